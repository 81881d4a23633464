import ts from 'typescript';

/** The same source, in which every function with a body first reports that it was entered. */
export function reportEntries(path: string, text: string): string {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const report = `globalThis.quittanceEntered?.(${JSON.stringify(path)})`;
  const inserted: (readonly [at: number, text: string])[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const body = node.body as ts.Node;
      if (ts.isBlock(body)) inserted.push([afterDirectives(body), ` ${report};`]);
      else if (!ts.isConstructorDeclaration(node)) {
        inserted.push([body.getStart(tree), `(${report}, `]);
        inserted.push([body.end, ')']);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  let out = text;
  for (const [at, piece] of inserted.toSorted(([left], [right]) => right - left))
    out = out.slice(0, at) + piece + out.slice(at);
  return out;
}

/** In the constructor of a derived class nothing may come before `super(…)`, so the report comes after it. */
function afterDirectives(block: ts.Block): number {
  const first = block.statements[0];
  const isSuper =
    first !== undefined &&
    ts.isExpressionStatement(first) &&
    ts.isCallExpression(first.expression) &&
    first.expression.expression.kind === ts.SyntaxKind.SuperKeyword;
  return isSuper ? first.end : block.getStart() + 1;
}
