{{- define "only.b" }}parent{{ end -}}
{{- define "blank" }}{{ end }}