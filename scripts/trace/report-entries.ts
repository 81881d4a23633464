import ts from 'typescript';

/** The same source, in which every function with a body reports when it is entered and when it is left. */
export function reportEntries(path: string, text: string): string {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const open = ` const quittanceLeft = globalThis.quittanceEntered?.(${JSON.stringify(path)}); try {`;
  const close = '} finally { quittanceLeft?.(); } ';
  const inserted: (readonly [at: number, text: string])[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const body = node.body as ts.Node;
      if (ts.isBlock(body)) {
        const isEmpty = body.statements.length === 0;
        inserted.push([afterSuper(body), isEmpty ? open + close : open]);
        if (!isEmpty) inserted.push([body.end - 1, close]);
      } else {
        // What an async function returns is part of it until it settles.
        const isAsync =
          ts.canHaveModifiers(node) &&
          ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) === true;
        inserted.push([body.getStart(tree), `{${open} return ${isAsync ? 'await ' : ''}(`]);
        inserted.push([body.end, `); ${close}}`]);
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
function afterSuper(block: ts.Block): number {
  const first = block.statements[0];
  const isSuper =
    first !== undefined &&
    ts.isExpressionStatement(first) &&
    ts.isCallExpression(first.expression) &&
    first.expression.expression.kind === ts.SyntaxKind.SuperKeyword;
  return isSuper ? first.end : block.getStart() + 1;
}
