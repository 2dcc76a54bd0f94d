{{- define "only.a" }}late{{ end -}}
{{- define "blank" }}x{{ end }}