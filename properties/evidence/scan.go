package evidence

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/reattach/spec"
)

// ruleID finds what may be the id of a rule.
var ruleID = regexp.MustCompile(`\bR[0-9]+b?\b`)

// cited returns the rules that a text cites; other numbers are no citation.
func cited(text string) (ids []string) {
	for _, id := range ruleID.FindAllString(text, -1) {
		if _, ok := spec.RuleOf(id); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// readModel reads which functions of the model state which rule: the comments
// behind the fields of model.Rules.
func (c *collection) readModel(root string) error {
	const file = "model/rules.go"
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(file)), nil, parser.ParseComments)
	if err != nil {
		return err
	}
	functions := 0
	ast.Inspect(parsed, func(n ast.Node) bool {
		t, ok := n.(*ast.TypeSpec)
		if !ok || t.Name.Name != "Rules" {
			return true
		}
		for _, f := range t.Type.(*ast.StructType).Fields.List {
			for _, id := range cited(f.Comment.Text()) {
				c.rules[id].Functions = append(c.rules[id].Functions, f.Names[0].Name)
				functions++
			}
		}
		return false
	})
	if functions == 0 {
		return errors.New(file + ": no field of type Rules cites a rule")
	}
	return nil
}

// silent are the directories whose tests say nothing about a rule: they are
// about the tables and the pages as such.
var silent = map[string]bool{"spec": true, "spec/render": true, "impl/cmd/reattach": true, "properties/evidence": true, "properties/mutants": true}

// readTests reads the test files of the module.
func (c *collection) readTests(root string) error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != root):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		below, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(below))
		if silent[dir] {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		citations, err := citationsOf(filepath.ToSlash(below), text)
		if err != nil {
			return err
		}
		for test, ids := range citations {
			for _, id := range ids {
				add(&c.rules[id].Tests, dir, test)
			}
		}
		return nil
	})
}

// citationsOf returns the rules that each test of a file cites, and under the
// file's own name those that its free comments cite: what the whole file tells.
func citationsOf(name string, text []byte) (map[string][]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("reading the tests: %w", err)
	}
	citations := map[string][]string{}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
			continue
		}
		ids := cited(f.Doc.Text())
		for _, comment := range parsed.Comments {
			if f.Pos() <= comment.Pos() && comment.End() <= f.End() {
				ids = append(ids, cited(comment.Text())...)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				ids = append(ids, cited(lit.Value)...)
			}
			return true
		})
		if len(ids) > 0 {
			citations[f.Name.Name] = ids
		}
	}
	for _, comment := range parsed.Comments {
		if ids := cited(comment.Text()); len(ids) > 0 && isFree(comment, parsed.Decls) {
			citations[path.Base(name)] = append(citations[path.Base(name)], ids...)
		}
	}
	return citations, nil
}

// isFree reports whether a comment belongs to no declaration.
func isFree(comment *ast.CommentGroup, decls []ast.Decl) bool {
	for _, d := range decls {
		from := d.Pos()
		if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil {
			from = f.Doc.Pos()
		} else if g, ok := d.(*ast.GenDecl); ok && g.Doc != nil {
			from = g.Doc.Pos()
		}
		if from <= comment.Pos() && comment.End() <= d.End() {
			return false
		}
	}
	return true
}
