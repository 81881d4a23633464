import ts from 'typescript';
import { codeMark, paragraphMark, withoutCode, type Prose } from './prose.ts';

/** `titles`: only the titles of tests, because the other texts of a test file are its data. */
export type Strings = 'all' | 'titles';

/** The comments, the texts and the words between JSX tags of a TypeScript file. */
export function typescriptProse(tree: ts.SourceFile, strings: Strings): Prose[] {
  const { literals, texts } = readTree(tree, strings);
  return [...commentsOf(tree, literals), ...texts].filter(({ text }) => text.trim() !== '');
}

type Literals = { readonly literals: readonly ts.TextRange[]; readonly texts: readonly Prose[] };

function readTree(tree: ts.SourceFile, strings: Strings): Literals {
  const literals: ts.TextRange[] = [];
  const texts: Prose[] = [];
  const visit = (node: ts.Node, isRead: boolean): void => {
    // Most nodes are names: they hold nothing to read.
    if (node.kind === ts.SyntaxKind.Identifier || ts.isImportDeclaration(node)) return;
    literals.push(...literalsOf(node, tree));
    const isWhole = isText(node) || isSum(node);
    if (isRead && isWhole) texts.push(...proseOf(node, tree));
    const title = titleOf(node);
    const isInside = isWhole || ts.isTaggedTemplateExpression(node);
    ts.forEachChild(node, (child) => {
      const isPart = isInside && (isText(child) || isSum(child));
      visit(child, (strings === 'all' && !isPart) || child === title);
    });
  };
  visit(tree, false);
  return { literals: literals.sort((left, right) => left.pos - right.pos), texts };
}

type Text = ts.StringLiteral | ts.NoSubstitutionTemplateLiteral | ts.TemplateExpression | ts.JsxText;

function isText(node: ts.Node): node is Text {
  return (
    ts.isStringLiteral(node) ||
    ts.isNoSubstitutionTemplateLiteral(node) ||
    ts.isTemplateExpression(node) ||
    ts.isJsxText(node)
  );
}

/** `'one ' + 'text'` */
function isSum(node: ts.Node): node is ts.BinaryExpression {
  return (
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.PlusToken &&
    [node.left, node.right].some((side) => isText(side) || isSum(side))
  );
}

/** The ranges in which two slashes do not begin a comment. */
function literalsOf(node: ts.Node, tree: ts.SourceFile): ts.TextRange[] {
  if (ts.isJsxText(node)) return [{ pos: node.pos, end: node.end }];
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map(({ literal }) => literal)].map((part) => ({
      pos: part.getStart(tree),
      end: part.end,
    }));
  const isLiteral =
    ts.isStringLiteral(node) ||
    ts.isNoSubstitutionTemplateLiteral(node) ||
    ts.isRegularExpressionLiteral(node);
  return isLiteral ? [{ pos: node.getStart(tree), end: node.end }] : [];
}

function proseOf(node: Text | ts.BinaryExpression, tree: ts.SourceFile): Prose[] {
  const text = writtenIn(node, tree);
  const start = ts.isJsxText(node) ? node.pos : node.getStart(tree);
  if (!isProse(text)) return [];
  return [{ kind: 'string', text: withoutCode(text), line: lineOf(start, tree) }];
}

/** The text as written, with the mark in place of values. Its newlines are those of the file. */
function writtenIn(node: ts.Node, tree: ts.SourceFile): string {
  if (isSum(node)) {
    const between = lineOf(node.right.getStart(tree), tree) - lineOf(node.left.end, tree);
    return writtenIn(node.left, tree) + '\n'.repeat(between) + writtenIn(node.right, tree);
  }
  if (ts.isJsxText(node)) return node.text;
  if (!isText(node)) return codeMark;
  const inner = (part: ts.Node): string => tree.text.slice(part.getStart(tree) + 1, part.end);
  const written = ts.isTemplateExpression(node)
    ? [node.head, ...node.templateSpans.map(({ literal }) => literal)]
        .map((part) => inner(part).replace(/\$\{$/, ''))
        .join(codeMark)
    : inner(node);
  return written.slice(0, -1).replaceAll('\\n', paragraphMark).replaceAll(/\\(.)/g, '$1');
}

const lineOf = (position: number, tree: ts.SourceFile): number =>
  tree.getLineAndCharacterOfPosition(position).line + 1;

/** The first argument of `test(…)`, `it.each(…)(…)`, `describe.skip(…)`. */
function titleOf(node: ts.Node): ts.Node | undefined {
  if (!ts.isCallExpression(node)) return undefined;
  let callee: ts.Node = node.expression;
  while (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) callee = callee.expression;
  return ts.isIdentifier(callee) && /^(?:it|test|describe)$/.test(callee.text)
    ? node.arguments[0]
    : undefined;
}

/** Words in a row; not a statement of SQL, a selector, a command line or a piece of HTML. */
function isProse(text: string): boolean {
  if ((text.match(/(?<=^|\s)["'(“]?[\p{L}§][\p{L}'’-]*/gu)?.length ?? 0) < 3) return false;
  return !/\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|WHERE|FROM|JOIN|ORDER BY)\b|=>|<\/|;\n|\{\n/.test(
    text,
  );
}

/** Lines of `//` that follow each other are one comment. */
function commentsOf(tree: ts.SourceFile, literals: readonly ts.TextRange[]): Prose[] {
  const found: Prose[] = [];
  let open: { text: string; line: number; end: number } | undefined;
  const close = (): void => {
    if (open !== undefined) found.push({ kind: 'comment', text: withoutCode(open.text), line: open.line });
    open = undefined;
  };
  for (const { pos, end } of commentRanges(tree.text, literals)) {
    const raw = tree.text.slice(pos, end);
    const line = tree.getLineAndCharacterOfPosition(pos).line + 1;
    const lastLine = open === undefined ? 0 : open.line + open.text.split('\n').length - 1;
    if (/^\/\/[/ ]*(?:@ts-|oxlint-|eslint-|<reference|v8 )|^\/\*[* ]*(?:@vitest|v8 |@__)/.test(raw)) continue;
    if (raw.startsWith('//') && open !== undefined && line === lastLine + 1) {
      open.text += `\n${raw.slice(2)}`;
      continue;
    }
    close();
    if (raw.startsWith('//')) open = { text: raw.slice(2), line, end };
    else found.push({ kind: 'comment', text: withoutCode(bare(raw)), line });
  }
  close();
  return found;
}

/** The text of a block comment: without its marks, and without the stars in front of its lines. */
function bare(comment: string): string {
  return comment
    .slice(2, -2)
    .replaceAll(/^[ \t]*\*+ ?/gm, '')
    .replaceAll(/```[^]*?```/g, (code) => code.replaceAll(/[^\n]/g, ''));
}

/** Comments are outside literals, so nothing in a text or a pattern is taken for one. */
function* commentRanges(text: string, literals: readonly ts.TextRange[]): Generator<ts.TextRange> {
  let next = 0;
  const begin = /\/[/*]/g;
  for (let match = begin.exec(text); match !== null; match = begin.exec(text)) {
    const pos = match.index;
    while ((literals[next]?.end ?? Infinity) <= pos) next++;
    const literal = literals[next];
    if (literal !== undefined && literal.pos <= pos) {
      begin.lastIndex = literal.end;
      continue;
    }
    const close = match[0] === '//' ? text.indexOf('\n', pos) : text.indexOf('*/', pos + 2) + 2;
    const end = close < pos ? text.length : close;
    yield { pos, end };
    begin.lastIndex = end;
  }
}
