{{- define "deep" -}}
first line
{{ include "deeper" . }}
{{- end -}}
{{- define "deeper" -}}

  {{ .Values.gone.field }}
{{- end -}}
{{- define "loop" }}{{ include "loop" . }}{{ end -}}
{{- define "bad.yaml" }}
a: b
 c: d
{{- end }}
