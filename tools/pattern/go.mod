module tiphys/tools/pattern

go 1.26

require (
	github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
	github.com/gobwas/glob v1.1.0 // indirect
)
