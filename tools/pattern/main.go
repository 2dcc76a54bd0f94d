// Prints what the pattern libraries that Argo CD uses make of patterns and texts.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"path/filepath"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/gobwas/glob"
)

var patterns = []string{
	"", "*", "**", "?", "a", "a*", "*a", "a*b", "a**b", "*.yaml", "{*.yaml,*.yml}", "{a,b}c", "a{b,}c", "[abc]", "[!abc]", "[a-c]x",
	"[^a]", "[!a-c]*", "\\*", "a\\{b", "{a,{b,c}d}", "a/*", "a/**", "**/a", "a/**/b", "**/*.yaml", "charts/*/values.yaml",
	"x/**/y/**/z", "a?c", "a[/]b", "{", "[", "[]", "[a", "a}", "{a", "[a-", "[c-a]", "[a-cx]", "\\", "[]a]", "[-]", "[a-]", "https://git.example/*",
	"https://git.example/**", "*/*", "a*b*c*d*e", "**a**", "a,b", "{a,b", "[\\]]", "a/b/**/", "/**", "**/", "a**/b", "{a/**,b}/c", "é*", "?é", "[!/]x",
}

var texts = []string{
	"", "a", "b", "ab", "abc", "a.yaml", "x/a.yaml", "a.yml", "ac", "bc", "cd", "bd", "a/b", "a/b/c", "a/x/b", "a/x/y/b", "/", "a/", "*", "a{b", "-", "]",
	"^", "ax", "dx", "charts/web/values.yaml", "charts/web/x/values.yaml", "x/y/z", "x/1/y/2/3/z", "https://git.example/a", "https://git.example/a/b", "abcde",
	"a1b2c3d4e", "éa", "aé", "a}", "a,b", "/x", "b/c", "a/q/c", "a/b/",
}

func main() {
	head, _ := json.Marshal(texts)
	fmt.Println(string(head))
	random := rand.New(rand.NewSource(7))
	letters := []rune("ab/.*?{},[]!^-\\*")
	for i := 0; i < 400; i++ {
		made := make([]rune, 1+random.Intn(7))
		for j := range made {
			made[j] = letters[random.Intn(len(letters))]
		}
		patterns = append(patterns, string(made))
	}
	for _, pattern := range patterns {
		print("free", pattern, func(text string) string { return gobwas(pattern, text) })
		print("separated", pattern, func(text string) string { return gobwas(pattern, text, '/') })
		print("path", pattern, func(text string) string { return word(filepath.Match(pattern, text)) })
		print("doublestar", pattern, func(text string) string {
			if !doublestar.ValidatePattern(pattern) {
				return "e"
			}
			return word(doublestar.Match(pattern, text))
		})
	}
}

// One line: the dialect, the pattern, and for each text yes, no or error.
func print(dialect, pattern string, match func(string) string) {
	answers := ""
	for _, text := range texts {
		answers += match(text)
	}
	fmt.Printf("%s\t%s\t%s\n", dialect, pattern, answers)
}

func gobwas(pattern, text string, separators ...rune) string {
	compiled, err := glob.Compile(pattern, separators...)
	if err != nil {
		return "e"
	}
	return word(compiled.Match(text), nil)
}

func word(matched bool, err error) string {
	if err != nil {
		return "e"
	}
	if matched {
		return "y"
	}
	return "n"
}
