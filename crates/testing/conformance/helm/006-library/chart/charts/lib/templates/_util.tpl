{{- /*
lib.util.merge merges two templates: what the second defines goes over the first.
*/ -}}
{{- define "lib.util.merge" -}}
{{- $top := first . -}}
{{- $over := fromYaml (include (index . 1) $top) | default (dict ) -}}
{{- $tpl := fromYaml (include (index . 2) $top) | default (dict ) -}}
{{- toYaml (merge $over $tpl) -}}
{{- end -}}
{{- define "lib.service.tpl" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
  labels: {{- include "lib.labels" . | nindent 4 }}
spec:
  type: ClusterIP
  ports:
  - port: 80
    name: http
{{- end -}}
{{- define "lib.service" -}}
{{- include "lib.util.merge" (append . "lib.service.tpl") -}}
{{- end -}}
{{- define "lib.labels" }}
app: {{ .Chart.Name }}
release: {{ .Release.Name }}
{{- end }}
