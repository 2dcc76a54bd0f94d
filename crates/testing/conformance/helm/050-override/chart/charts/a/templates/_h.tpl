{{- define "who" }}a{{ end -}}
{{- define "only.a" }}only a{{ end -}}
