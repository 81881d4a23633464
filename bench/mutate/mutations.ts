/**
 * Makes mutations: single changes of a source file that a test should notice. The changes are mechanical; type errors
 * are found later. Texts, types and imports are not mutated.
 */
import ts from 'typescript';

export type Mutation = {
  /** File, declaration, change and, if the same change is possible twice, its number. */
  readonly key: string;
  readonly path: string;
  readonly kind: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly original: string;
  readonly replacement: string;
};

type Change = {
  readonly kind: string;
  readonly from: ts.Node | { readonly start: number; readonly end: number };
  readonly to: string;
};

const swapped: Readonly<Partial<Record<ts.SyntaxKind, readonly string[]>>> = {
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: ['!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: ['==='],
  [ts.SyntaxKind.LessThanToken]: ['<=', '>='],
  [ts.SyntaxKind.LessThanEqualsToken]: ['<', '>'],
  [ts.SyntaxKind.GreaterThanToken]: ['>=', '<='],
  [ts.SyntaxKind.GreaterThanEqualsToken]: ['>', '<'],
  [ts.SyntaxKind.AmpersandAmpersandToken]: ['||'],
  [ts.SyntaxKind.BarBarToken]: ['&&'],
  [ts.SyntaxKind.PlusToken]: ['-'],
  [ts.SyntaxKind.MinusToken]: ['+'],
  [ts.SyntaxKind.AsteriskToken]: ['/'],
  [ts.SyntaxKind.SlashToken]: ['*'],
  [ts.SyntaxKind.PlusEqualsToken]: ['-='],
  [ts.SyntaxKind.MinusEqualsToken]: ['+='],
  [ts.SyntaxKind.QuestionQuestionEqualsToken]: ['='],
};

const swappedMethods: ReadonlyMap<string, string> = new Map([
  ['every', 'some'],
  ['some', 'every'],
  ['min', 'max'],
  ['max', 'min'],
]);

/** Calls that change their receiver's value and can be dropped: `calls.filter(isOpen)` becomes `calls`. */
const droppedMethods: ReadonlySet<string> = new Set([
  'filter',
  'slice',
  'catch',
  'finally',
  'toReversed',
  'toSorted',
  'trim',
  'toLowerCase',
]);

/** All mutations of one file, in the order of their places. */
export function makeMutations(path: string, text: string): Mutation[] {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: Omit<Mutation, 'key'>[] = [];
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isLeftAlone(node)) return;
    for (const { kind, from, to } of changesOf(node, tree)) {
      const [start, end] = 'kind' in from ? [from.getStart(tree), from.getEnd()] : [from.start, from.end];
      const original = text.slice(start, end);
      if (original === to) continue;
      const line = tree.getLineAndCharacterOfPosition(start).line + 1;
      found.push({ path, kind, line, start, end, original, replacement: to });
      names.push(declarationOf(node));
    }
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(tree, visit);
  return numberAlike(found, names);
}

/** The text of the file with the change. */
export const applyMutation = (text: string, { start, end, replacement }: Mutation): string =>
  text.slice(0, start) + replacement + text.slice(end);

/** Gives each mutation a name that survives edits elsewhere in the file. */
function numberAlike(found: readonly Omit<Mutation, 'key'>[], names: readonly string[]): Mutation[] {
  const seen = new Map<string, number>();
  const flat = (code: string): string => {
    const line = code.replace(/\s+/g, ' ').trim();
    return line.length <= 90 ? line : `${line.slice(0, 60)} … ${line.slice(-25)}`;
  };
  return found.map((mutation, index) => {
    const change = `${flat(mutation.original)} → ${flat(mutation.replacement) || '(nothing)'}`;
    const name = `${mutation.path}#${names[index] ?? ''} ${mutation.kind}: ${change}`;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return { ...mutation, key: count === 1 ? name : `${name} @${count}` };
  });
}

function declarationOf(node: ts.Node): string {
  const names: string[] = [];
  for (let at: ts.Node | undefined = node; at !== undefined; at = at.parent) {
    const name =
      (ts.isFunctionDeclaration(at) ||
        ts.isMethodDeclaration(at) ||
        ts.isClassDeclaration(at) ||
        ts.isVariableDeclaration(at)) &&
      at.name !== undefined
        ? at.name.getText()
        : undefined;
    if (name !== undefined && /^#?\w+$/.test(name)) names.unshift(name);
  }
  return names.join('.');
}

/** The compiler checks types, and texts are for people. */
function isLeftAlone(node: ts.Node): boolean {
  return (
    ts.isTypeNode(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isTemplateExpression(node)
  );
}

function changesOf(node: ts.Node, tree: ts.SourceFile): Change[] {
  if (ts.isIfStatement(node)) return changesOfIf(node);
  if (ts.isWhileStatement(node)) return [negate(node.expression)];
  if (ts.isConditionalExpression(node))
    return [
      negate(node.condition),
      { kind: 'branch', from: node, to: `(${node.whenTrue.getText()})` },
      { kind: 'branch', from: node, to: `(${node.whenFalse.getText()})` },
    ];
  if (ts.isBinaryExpression(node)) return changesOfBinary(node);
  if (ts.isPrefixUnaryExpression(node)) return changesOfPrefix(node);
  if (ts.isPostfixUnaryExpression(node)) {
    const to = node.operator === ts.SyntaxKind.PlusPlusToken ? '--' : '++';
    return [{ kind: 'operator', from: node, to: `${node.operand.getText()}${to}` }];
  }
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [{ kind: 'boolean', from: node, to: 'false' }];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [{ kind: 'boolean', from: node, to: 'true' }];
  if (ts.isNumericLiteral(node))
    return [{ kind: 'number', from: node, to: node.text === '1' ? '0' : `(${node.getText()} + 1)` }];
  if (ts.isExpressionStatement(node)) return changesOfStatement(node);
  if (ts.isReturnStatement(node) && node.expression === undefined) return [drop(node)];
  if (ts.isThrowStatement(node) || ts.isContinueStatement(node)) return [drop(node)];
  if (ts.isObjectLiteralExpression(node)) return dropEach(node.properties, 'property', tree);
  if (ts.isArrayLiteralExpression(node)) return dropEach(node.elements, 'element', tree);
  if (ts.isCallExpression(node)) return changesOfCall(node);
  if (ts.isPropertyAccessExpression(node) && node.questionDotToken !== undefined)
    return [{ kind: 'optional chain', from: node, to: `${node.expression.getText()}!.${node.name.text}` }];
  if (ts.isCaseClause(node) && node.statements.length === 0) return [drop(node, 'case')];
  return [];
}

const negate = (condition: ts.Expression): Change => ({
  kind: 'condition',
  from: condition,
  to: `!(${condition.getText()})`,
});

const drop = (node: ts.Node, kind = 'statement'): Change => ({
  kind,
  from: node,
  to: kind === 'case' ? '' : ';',
});

function changesOfIf(node: ts.IfStatement): Change[] {
  const { expression, thenStatement, elseStatement } = node;
  const changes = [negate(expression)];
  // The expression stays, so that type narrowing stays.
  changes.push({ kind: 'condition', from: expression, to: `(${expression.getText()}) && false` });
  if (elseStatement !== undefined) changes.push({ kind: 'branch', from: node, to: thenStatement.getText() });
  else changes.push({ kind: 'statement', from: node, to: ';' });
  return changes;
}

function changesOfBinary(node: ts.BinaryExpression): Change[] {
  const { left, operatorToken, right } = node;
  const operator = operatorToken.kind;
  const changes: Change[] = (swapped[operator] ?? []).map((to) => ({
    kind: 'operator',
    from: operatorToken,
    to,
  }));
  if (
    operator === ts.SyntaxKind.AmpersandAmpersandToken ||
    operator === ts.SyntaxKind.BarBarToken ||
    operator === ts.SyntaxKind.QuestionQuestionToken
  )
    changes.push(
      { kind: 'side', from: node, to: left.getText() },
      { kind: 'side', from: node, to: right.getText() },
    );
  return changes;
}

function changesOfPrefix(node: ts.PrefixUnaryExpression): Change[] {
  const operand = node.operand.getText();
  switch (node.operator) {
    case ts.SyntaxKind.ExclamationToken:
      return [{ kind: 'not', from: node, to: operand }];
    case ts.SyntaxKind.PlusPlusToken:
      return [{ kind: 'operator', from: node, to: `--${operand}` }];
    case ts.SyntaxKind.MinusMinusToken:
      return [{ kind: 'operator', from: node, to: `++${operand}` }];
    case ts.SyntaxKind.PlusToken:
    case ts.SyntaxKind.MinusToken:
    case ts.SyntaxKind.TildeToken:
      return [];
  }
}

function changesOfStatement(node: ts.ExpressionStatement): Change[] {
  const changes = [drop(node)];
  if (ts.isAwaitExpression(node.expression))
    changes.push({ kind: 'await', from: node, to: `void ${node.expression.expression.getText()};` });
  return changes;
}

function changesOfCall(node: ts.CallExpression): Change[] {
  const called = node.expression;
  if (!ts.isPropertyAccessExpression(called)) return [];
  const name = called.name.text;
  const changes: Change[] = [];
  const other = swappedMethods.get(name);
  if (other !== undefined) changes.push({ kind: 'method', from: called.name, to: other });
  if (droppedMethods.has(name)) changes.push({ kind: 'method', from: node, to: called.expression.getText() });
  return changes;
}

/** Drops one of several, with the comma after it. */
function dropEach(nodes: readonly ts.Node[], kind: string, tree: ts.SourceFile): Change[] {
  return nodes.map((node) => {
    const rest = /^\s*,/.exec(tree.text.slice(node.getEnd()));
    return {
      kind,
      from: { start: node.getStart(tree), end: node.getEnd() + (rest?.[0].length ?? 0) },
      to: '',
    };
  });
}
