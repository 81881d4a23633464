/** Answers over HTTP use HTTP's own terms: none names a function of the library. */
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../packages/quittance/src/base/error.ts';
import { errorTable, QuittanceError } from '../../packages/quittance/src/base/error.ts';
import { toProblem } from '../../packages/server/src/http/problem.ts';
import { readSources } from '../sources.ts';
import { libraryName } from './library-name.ts';

/**
 * Messages from the creation of a runtime, a tool or a behavior, to its code, or on a page: no request meets
 * them.
 */
const saidBefore =
  /^packages\/(?!quittance\/|server\/)|^packages\/(?:quittance|server)\/src\/(?:mcp-reviews|replay|testing|view|store|tool|contracts|policy|sandbox)\/|^packages\/(?:quittance|server)\/src\/[\w-]+\.ts$|^packages\/quittance\/src\/runtime\/(?:create-runtime|body-context|open-turn|until-decided|turn|run-handler|behavior|behavior-reader|behaviors|call-options|views|confirm)\.ts$|^packages\/server\/src\/http\/(?:console-options|http-words|create-http-server|pages)\.ts$|^packages\/quittance\/src\/base\/error\.ts$/;

const overHttp = (code: ErrorCode, message: string): string => {
  const { title, detail } = toProblem(new QuittanceError(code, message));
  return `${title} ${detail}`;
};

/** A text as it is put together, with a quoted placeholder for each value. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => `"x"${literal.text}`).join('');
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === undefined || right === undefined ? undefined : left + right;
}

function* textsIn(node: ts.Node): Generator<string> {
  const text = textOf(node);
  if (text === undefined) for (const child of node.getChildren()) yield* textsIn(child);
  else yield text;
}

describe('texts over HTTP', () => {
  test.each(Object.keys(errorTable) as ErrorCode[])('%s names no function of the library', (code) => {
    if (/^(?:cassette|adapter)\./.test(code)) return;
    expect(overHttp(code, 'Found what was not expected.')).not.toMatch(libraryName);
  });

  test('no message that a request may meet names a function of the library', () => {
    const met = readSources()
      .filter(({ path }) => !saidBefore.test(path))
      .flatMap(({ path, tree }) => [...textsIn(tree)].map((text) => ({ path, text })))
      // Names of codes, events and prefixes of messages are not messages.
      .filter(({ text }) => libraryName.test(text) && text.includes(' '));
    expect(met.length).toBeGreaterThan(3);
    const told = met.map(({ path, text }) => `${path}: ${overHttp('config.invalid', text)}`);
    expect(told.filter((each) => libraryName.test(each))).toEqual([]);
  });

  test('name the routes and fields of HTTP', () => {
    const said = overHttp(
      'undo.spent',
      'Find out, and record it with runtime.calls.reconcile({ sessionId, callId: "a\\"b" }, …).',
    );
    expect(said).toContain(
      'record it with POST /v1/sessions/{sessionId}/calls/{callId}/resolution for the call "a\\"b".',
    );
    expect(
      overHttp(
        'confirmation.unknown',
        "There is no confirmation x in this ledger. runtime.confirmations.list({ status: 'pending' }) lists the open ones.",
      ),
    ).toBe(
      'There is no such confirmation in this ledger. There is no confirmation x in this ledger. GET /v1/confirmations?status=pending lists the open ones.',
    );
  });
});
