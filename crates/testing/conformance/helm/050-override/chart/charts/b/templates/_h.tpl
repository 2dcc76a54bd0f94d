{{- define "who" }}b{{ end -}}
{{- define "only.b" }}only b{{ end -}}
