import { describe, expect, test } from 'vitest';
import type { SuccessCheck } from './success-check.ts';
import {
  defaultSuccessCheck,
  defaultSuccessVerdict,
  runSuccessCheck,
  successChecks,
} from './success-check.ts';

describe('the default success check', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['own success true, whatever else it says', { success: true, error: 'ignored', is_error: true }],
    ['an object with nothing telling', { status: 500 }],
    ['a falsy is_error', { is_error: false, isError: 0 }],
    ['a null error', { error: null }],
    ...['', ' ', [], {}, false, 0].map((error): [string, unknown] => [
      `an error that says nothing (${JSON.stringify(error)})`,
      { error, errors: error, data: 1 },
    ]),
    ['a number of errors', { errors: 3, warnings: 1 }],
    ['ok that is true', { ok: true, result: [] }],
    ['own ok true, whatever else it says', { ok: true, error: 'ignored', is_error: true, errors: ['x'] }],
    ['own success true before ok', { success: true, ok: false }],
    ['a text that is an object with ok true', '{"ok":true,"error":"ignored"}'],
    ['JSON that was cut behind ok', '{"ok":true,"error":"x","rows":[1,2'],
    ['a job that was looked up', { id: 'job_1', status: 'failed', exit_code: 1 }],
    ['JSON that was read and speaks of an error', '{"error":"none left","level":"warn","line":12}'],
    ['a log with an error in it', '{"error":"x"}\n{"error":"y"}'],
    ['a list as text', '[{"error":"x"}]'],
    ['JSON with an empty error', '{"error":"","message":"fine"}'],
    ['text that only begins like JSON', '{"error": oh no}'],
    ['a text that is an object with success true', '{"success":true,"error":"ignored"}'],
    ['an object inside the text', '{"job":{"error":"x"},"result":1}'],
    ['a word for none as the error', { error: 'None', result: 1 }],
    ['the same in text', '{"error":"no error","result":{"id":1}}'],
    ['a number of errors in text', '{"errors":3,"warnings":1}'],
    ['a Python dictionary that was cut behind no error', "{'error': None, 'rows': [1, 2"],
    ['JSON with apostrophes that was cut', `{"note":"it's","rows":[{"error":"don't"},{"id":`],
    ['JSON that was cut before its error', '{"rows":[{"error":"x"},{"id":'],
    ['JSON that was cut in the name of an error', '{"rows":[],"err'],
    ['JSON that was cut behind the name of an error', '{"rows":[],"error":'],
    ['JSON that was cut at the beginning of errors', '{"errors":['],
    ['JSON that was cut behind an empty error', '{"error":null,"rows":[1,2'],
    ['JSON that was cut behind a success', '{"success":true,"error":"x","rows":[1,2'],
    ['a line of a log that was cut', '{"level":"warn","error":"none left","stack":"at'],
    ['a sentence in braces', '{see the error page} success'],
    ['a success that is not a boolean', { success: 'no' }],
    ['text', 'all good'],
    ['text with an error inside', 'No Error: here'],
    ['text with a space before', ' Error: no'],
    ['numbers and booleans', false],
    ['an array', ['Error: no']],
    ['an inherited error', Object.create({ error: 'inherited', is_error: true, success: false })],
  ])('%s succeeds', (_, result) => {
    expect(defaultSuccessCheck('lookup', result)).toBe(true);
    expect(defaultSuccessVerdict('lookup', result)).toEqual({ ok: true });
  });

  test.each<[string, unknown, string]>([
    ['own success false', { success: false, error: 'Invalid date' }, 'Invalid date'],
    ['own success false with only a message', { success: false, message: 'Try again' }, 'Try again'],
    ['own success false alone', { success: false }, 'The tool reported a failure: success is false.'],
    ['a truthy is_error', { is_error: 1, content: 'disk full' }, 'disk full'],
    [
      'a truthy isError',
      { isError: true, content: [{ type: 'text', text: 'no such file' }, { type: 'image' }] },
      'no such file',
    ],
    ['a truthy isError alone', { isError: true }, 'The tool reported a failure: isError is set.'],
    ['own success false before ok', { success: false, ok: true, error: 'gone' }, 'gone'],
    ['an error next to an ok that is not a boolean', { ok: 'true', error: 'gone' }, 'gone'],
    ['ok that is false', { ok: false, error: 'channel_not_found' }, 'channel_not_found'],
    ['ok that is false alone', { ok: false }, 'The tool reported a failure: ok is false.'],
    ['errors in a list', { data: null, errors: [{ message: 'a' }, 'b', { detail: 'c' }] }, 'a; b; c'],
    [
      'errors in an object',
      { errors: { name: ['is taken'] } },
      'The tool reported a failure: errors is set.',
    ],
    ['text that is nothing but an error', '{"error":"no such user","code":404,"data":null}', 'no such user'],
    ['an error next to a result', '{"error":"card declined","result":{"id":"ch_1"}}', 'card declined'],
    ['an error next to other members', '{"path":"/tmp/a","error":"no such file","exit":2}', 'no such file'],
    ['an answer of JSON-RPC', '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"gone"}}', 'gone'],
    ['errors in text', '{"data":null,"errors":[{"message":"a"}]}', 'a'],
    ['success false in text', '{"success":false,"message":"Try again"}', 'Try again'],
    ['ok false in text', '{"ok":false,"description":"x"}', 'The tool reported a failure: ok is false.'],
    ['an MCP result in text', '{"content":[{"type":"text","text":"gone"}],"isError":true}', 'gone'],
    ['text with a number that loses digits', '{"error":"gone","id":12345678901234567890}', 'gone'],
    ['text in a code fence', '```json\n{"error":"gone"}\n```', 'gone'],
    ['a Python dictionary', "{'error': 'gone', 'result': None}", 'gone'],
    ['a Python dictionary that was cut', "{'error': 'gone', 'rows': [{'it': 'can\\'t'}, {'i", 'gone'],
    [
      'a Python dictionary that was cut inside its error',
      "{'rows': [1, None], 'next': None, 'error': 'no such us",
      'no such us',
    ],
    ['JSON that was cut inside its error', '{"error":"no such us', 'no such us'],
    ['JSON that was cut behind its error', '{"error":"gone","rows":[{"id":1},{"i', 'gone'],
    ['JSON with a word about the cut', '{"id":1,"error":"gone","rows":[1,2 … (3 kB cut)', 'gone'],
    ['JSON that was cut inside an error object', '{"error":{"message":"go', '{"message":"go'],
    ['JSON that was cut behind an error object', '{"error":{"message":"gone"},"at":"', 'gone'],
    ['JSON that was cut behind ok', '{"ok":false,"message":"gone","trace":"at "', 'gone'],
    ['JSON that was cut in a name behind its error', '{"error":"a \\"b\\" : {","messa', 'a "b" : {'],
    ['a long text', `{"error":"gone","rows":[${'1,'.repeat(100_000)}1]}`, 'gone'],
    [
      'a long text that was cut',
      `{"rows":[${'"a",'.repeat(9_000)}1],"error":"gone","more":["${'"\\"'.repeat(20_000)}`,
      'gone',
    ],
    ['the same with blanks around', ' {"error":{"message":"gone"},"status":"error"}\n', 'gone'],
    ['an own error', { error: 'boom' }, 'boom'],
    ['an own error object', { error: { message: 'boom', code: 3 } }, 'boom'],
    ['an own error next to a success that is not a boolean', { error: 'boom', success: 1 }, 'boom'],
    ['text starting with Error:', 'Error: no such user', 'Error: no such user'],
    ['text starting with fatal:', 'fatal: not a git repository', 'fatal: not a git repository'],
    ['text starting with either in any case', 'FATAL: role missing', 'FATAL: role missing'],
    [
      'an own error on an object without a prototype',
      Object.assign(Object.create(null), { error: 'x' }),
      'x',
    ],
  ])('%s fails', (_, result, reason) => {
    expect(defaultSuccessCheck('lookup', result)).toBe(false);
    expect(defaultSuccessVerdict('lookup', result)).toMatchObject({ ok: false, reason });
  });

  test.each([
    [{ error: 'x', retryable: false }, false],
    [{ success: false, retryable: true }, true],
    [{ error: { message: 'x', retryable: false } }, false],
    ['{"error":{"message":"x","retryable":false}}', false],
    [{ error: 'x', retryable: 'no' }, undefined],
  ])("the tool's own word on a retry in %j is used", (result, retryable) => {
    const judged = defaultSuccessVerdict('lookup', result);
    expect(judged).toMatchObject({ ok: false });
    expect(judged.ok ? undefined : judged.retryable).toBe(retryable);
  });

  test('the reason is complete: it is cut only after redaction', () => {
    const text = `Error: ${'😀'.repeat(20_000)}`;
    expect(defaultSuccessVerdict('lookup', text)).toMatchObject({ ok: false, reason: text });
  });
});

describe('asking a check', () => {
  const ask = (answer: unknown): unknown =>
    // As in JavaScript: any answer at all.
    runSuccessCheck((() => answer) as SuccessCheck, 'lookup', {});

  test('passes the tool name and the result to the check', () => {
    const seen: unknown[] = [];
    void runSuccessCheck((...given) => seen.push(given) > 0, 'lookup', { a: 1 });
    expect(seen).toEqual([['lookup', { a: 1 }]]);
  });

  test('asking a check without one asks the default', () => {
    expect(runSuccessCheck(undefined, 'lookup', { error: 'boom' })).toMatchObject({
      ok: false,
      reason: 'boom',
    });
    expect(runSuccessCheck(undefined, 'lookup', {})).toEqual({ ok: true });
  });

  test('a boolean or {ok} decides, synchronously', () => {
    expect(ask(true)).toEqual({ ok: true });
    expect(ask({ ok: true, reason: 'fine' })).toEqual({ ok: true });
    expect(ask(false)).toEqual({ ok: false, reason: 'The success check rejected the result.' });
    expect(ask({ ok: false })).toEqual({ ok: false, reason: 'The success check rejected the result.' });
    expect(ask({ ok: false, reason: '' })).toEqual({
      ok: false,
      reason: 'The success check rejected the result.',
    });
    expect(ask({ ok: false, reason: 'status 500' })).toEqual({ ok: false, reason: 'status 500' });
  });

  test('the default composes: a check that only says no has the words of the default', () => {
    const hasRows: SuccessCheck = (name, result) =>
      defaultSuccessCheck(name, result) && (result as { rows: number }).rows > 0;
    expect(runSuccessCheck(hasRows, 'lookup', { rows: 2 })).toEqual({ ok: true });
    expect(runSuccessCheck(hasRows, 'lookup', { rows: 0 })).toEqual({
      ok: false,
      reason: 'The success check rejected the result.',
    });
    expect(runSuccessCheck(hasRows, 'lookup', { rows: 2, error: 'boom', retryable: false })).toEqual({
      ok: false,
      reason: 'boom',
      retryable: false,
    });
  });

  test('the verdict of the default with its reason is an answer too', () => {
    expect(runSuccessCheck(defaultSuccessVerdict, 'lookup', { error: 'boom' })).toEqual({
      ok: false,
      reason: 'boom',
    });
  });

  test('an async answer is awaited', async () => {
    await expect(ask(Promise.resolve(true))).resolves.toEqual({ ok: true });
    await expect(ask(Promise.resolve({ ok: false, reason: 'late' }))).resolves.toEqual({
      ok: false,
      reason: 'late',
    });
  });

  test('a check that throws, now or later, gives no answer, and the developer learns why', async () => {
    const judgement = {
      ok: false,
      reason: 'The success check gave no usable answer.',
      mistake: 'The success check threw: no such field',
    };
    const broken = (): never => {
      throw new Error('no such field');
    };
    expect(runSuccessCheck(broken, 'lookup', {})).toEqual(judgement);
    await expect(ask(Promise.reject(new Error('no such field')))).resolves.toEqual(judgement);
    const odd = runSuccessCheck(
      () => {
        throw Object.create(null);
      },
      'lookup',
      {},
    );
    expect(odd).toEqual({ ...judgement, mistake: 'The success check threw: an empty object' });
  });

  test.each([[undefined], [null], ['yes'], [1], [{}], [{ ok: 'yes' }], [[]]])(
    'an invalid answer (%j) is a failure that says so',
    (answer) => {
      expect(ask(answer)).toEqual({
        ok: false,
        reason: 'The success check gave no usable answer.',
        mistake: expect.stringMatching(
          /^The success check answered with .+\. Expected true, false or \{ok, reason\}\.$/,
        ),
      });
    },
  );
});

describe('the ready-made checks', () => {
  test.each<[string, SuccessCheck, unknown]>([
    ['httpStatus', successChecks.httpStatus, { status: 200, body: 'x' }],
    ['httpStatus', successChecks.httpStatus, 'text'],
    ['exitCode', successChecks.exitCode, { exitCode: 0, stdout: '' }],
    ['statusField', successChecks.statusField('state', ['lost']), { state: 'failed' }],
    ['always', successChecks.always, 'Error: what the file says'],
  ])('%s accepts %j', async (_, check, result) => {
    expect([true, { ok: true }]).toContainEqual(await check('t', result));
  });

  test.each<[string, SuccessCheck, unknown, RegExp]>([
    ['httpStatus', successChecks.httpStatus, { status: 404, statusText: 'Not Found' }, /404. Not Found/],
    ['httpStatus', successChecks.httpStatus, { status_code: '503' }, /503/],
    ['httpStatus', successChecks.httpStatus, { status: 200, error: 'no' }, /^no$/],
    ['exitCode', successChecks.exitCode, { exit_code: 2, stderr: 'no such file' }, /2. no such file/],
    ['exitCode', successChecks.exitCode, { returncode: -9 }, /-9/],
    ['statusField', successChecks.statusField(), { status: 'FAILED' }, /"FAILED"/],
    ['statusField', successChecks.statusField('state', ['lost']), { state: 'lost' }, /"lost"/],
  ])('%s treats %j as a failure', async (_, check, result, reason) => {
    expect(await check('t', result)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(reason) as string,
    });
  });
});
