/** The two versions of the contract language: what each accepts and what the same words mean in them. */
import type { KnownTool, StringOptions } from 'quittance/contracts';
import { contractsFromYamlString } from 'quittance/contracts';
import { describe, expect, test } from 'vitest';

type Version = 'edictum/v1' | 'quittance/v1';

const head = (version: Version, defaults = 'mode: enforce'): string =>
  `apiVersion: ${version}\nkind: Ruleset\nmetadata: { name: trial }\ndefaults: { ${defaults} }\n`;
const then = 'then: { action: block, message: No. }';
const rule = (when: string): string =>
  `rules:\n  - { id: a, type: pre, tool: send, when: ${when}, ${then} }\n`;

const problemsOf = (text: string, options?: StringOptions): string => {
  try {
    contractsFromYamlString(text, options);
    return '';
  } catch (error) {
    return String(error);
  }
};

const decide = async (when: string, input: object, more: object = {}, version: Version = 'quittance/v1') =>
  (
    await contractsFromYamlString(head(version) + rule(when)).evaluate({
      toolName: 'send',
      input: input as Record<string, never>,
      ...more,
    })
  ).decidedBy?.policyError ?? 'quiet';

/** Fired, fired because of a policy error, or quiet. */
const fires = false;
const error = true;

const additions: readonly (readonly [name: string, body: string, defaults?: string])[] = [
  ['a pre rule without when', `rules:\n  - { id: a, type: pre, tool: x, ${then} }\n`],
  ['on_missing', rule('{ args.a: { gt: 1, on_missing: fire } }')],
  ['any', rule('{ args.a: { any: { equals: 1 } } }')],
  ['every', rule('{ args.a: { every: { item.b: { equals: 1 } } } }')],
  ['from', rule('{ args.a: { equals: { from: metadata.owner } } }')],
  ['literal', rule('{ args.a: { equals: { literal: metadata.owner } } }')],
  ['literal', rule('{ args.a: { in: [{ literal: metadata.owner }] } }')],
  ['snapshot.a', rule('{ snapshot.a: { equals: 1 } }')],
  ['found.paths', rule('{ found.paths: { contains: x } }')],
  ['session.failures', rule('{ session.failures: { gte: 1 } }')],
  ['tool.mode', rule('{ tool.mode: { equals: external } }')],
  ['tool.risk', rule('{ tool.risk: { equals: money } }')],
  ['unlisted_tools', rule('{ args.a: { equals: 1 } }'), 'mode: enforce, unlisted_tools: block'],
  ['approval', `rules:\n  - { id: a, type: pre, tool: x, when: { args.a: { equals: 1 } }, then: { action: ask, message: m, approval: { quorum: 2 } } }\n`],
  ['max_failures', `rules:\n  - { id: a, type: session, limits: { max_failures: 1 }, ${then} }\n`],
  ['max_consecutive_failures', `rules:\n  - { id: a, type: session, limits: { max_consecutive_failures: 1 }, ${then} }\n`],
  ['max_failures_per_tool', `rules:\n  - { id: a, type: session, limits: { max_failures_per_tool: { x: 1 } }, ${then} }\n`],
  ['chains', `rules:\n  - { id: a, type: sandbox, tool: x, allows: { commands: [ls] }, chains: judge, message: m }\n`],
  ['approval', `rules:\n  - { id: a, type: sandbox, tool: x, within: [/a], outside: ask, approval: { quorum: 2 }, message: m }\n`],
  ['side_effect', `tools: { x: { idempotent: false } }\n${rule('{ args.a: { equals: 1 } }')}`],
]; // oxfmt-ignore

describe('an addition', () => {
  test.each(additions)(
    '(%s) loads in quittance/v1 and is refused in edictum/v1, with the way out',
    (name, body, defaults) => {
      expect(problemsOf(head('quittance/v1', defaults) + body)).toBe('');
      const refused = problemsOf(head('edictum/v1', defaults) + body);
      expect(refused).toContain(name === 'a pre rule without when' ? 'when is missing' : name);
      expect(refused).toContain('quittance contracts upgrade');
      expect(refused).toContain('These contracts have a problem:');
    },
  );

  test('an addition to a stage of a workflow is refused in edictum/v1', () => {
    const text = (version: Version): string =>
      `apiVersion: ${version}\nkind: Workflow\nmetadata: { name: w }\nstages: [{ id: a, approval: { message: m, quorum: 2 } }]\n`;
    expect(problemsOf(text('quittance/v1'))).toBe('');
    expect(problemsOf(text('edictum/v1'))).toContain('"quorum" is an addition of quittance/v1');
  });

  test.each(additions)(
    '(%s) loads from a document that a ledger recorded under edictum/v1',
    (_name, body, defaults) => {
      expect(problemsOf(head('edictum/v1', defaults) + body, { recorded: true })).toBe('');
    },
  );

  test('is not suggested by the problems of an edictum/v1 document', () => {
    const text = head('edictum/v1') + rule('{ args.a: { equals: 1 } }').replace('message', 'mesage');
    expect(problemsOf(text)).toContain(
      'Known fields: action, message, tags, metadata, timeout, timeout_effect.',
    );
  });
});

test.each([
  ['an empty pattern', rule("{ args.a: { matches: '' } }")],
  [
    'an unknown key of observability',
    `observability: { metrics: true }\n${rule('{ args.a: { equals: 1 } }')}`,
  ],
  ['an unknown protocol', `observability: { otel: { protocol: udp } }\n${rule('{ args.a: { equals: 1 } }')}`],
])('edictum/v1 refuses %s, as its public schema does', (_name, body) => {
  expect(problemsOf(head('edictum/v1') + body)).not.toBe('');
  expect(problemsOf(head('quittance/v1') + body)).toBe('');
});

test('edictum/v1 accepts every key of observability in its public schema', () => {
  const otel =
    'otel: { enabled: true, endpoint: x, protocol: grpc, service_name: s, insecure: true, resource_attributes: { a: b } }';
  const text = `observability: { ${otel}, stdout: false, file: null }\n${rule('{ args.a: { equals: 1 } }')}`;
  expect(problemsOf(head('edictum/v1') + text)).toBe('');
});

test('an empty not_within loads, as in the public schema', () => {
  const text = `rules:\n  - { id: a, type: sandbox, tool: x, within: [/a], not_within: [], message: m }\n`;
  expect(problemsOf(head('edictum/v1') + text)).toBe('');
});

test('an unknown version is refused, and both known ones are named', () => {
  expect(problemsOf(head('v2' as Version) + rule('{ args.a: { equals: 1 } }'))).toContain(
    'expected edictum/v1 or quittance/v1',
  );
});

test('a pattern of upstream that begins with a negative lookahead loads and decides', async () => {
  const when = "{ args.path: { matches: '^(?!/workspace/).*' } }";
  expect(await decide(when, { path: '/etc/passwd' }, {}, 'edictum/v1')).toBe(fires);
  expect(await decide(when, { path: '/workspace/a' }, {}, 'edictum/v1')).toBe('quiet');
});

const list = { to: ['a@x.org', 'b@y.org'] };

describe('any and every', () => {
  test.each<[string, object, boolean | 'quiet']>([
    ['{ args.to: { any: { ends_with: y.org } } }', list, fires],
    ['{ args.to: { any: { ends_with: z.org } } }', list, 'quiet'],
    ['{ args.to: { every: { ends_with: .org } } }', list, fires],
    ['{ args.to: { every: { ends_with: x.org } } }', list, 'quiet'],
    ['{ not: { args.to: { every: { ends_with: x.org } } } }', list, fires],
    ['{ args.to: { any: { ends_with: x } } }', { to: [] }, 'quiet'],
    ['{ args.to: { every: { ends_with: x } } }', { to: [] }, fires],
    ['{ args.to: { any: { ends_with: x } } }', {}, 'quiet'],
    ['{ args.to: { any: { ends_with: x }, on_missing: fire } }', {}, fires],
    ['{ args.to: { any: { exists: false } } }', {}, 'quiet'],
    ['{ args.to: { any: { exists: false } } }', { to: ['a', null] }, fires],
    // A value that is not a list, or an item that the operator cannot judge, makes the rule fire.
    ['{ args.to: { any: { ends_with: x } } }', { to: 'a@x.org' }, error],
    ['{ args.to: { every: { gt: 1 } } }', { to: [2, 'x'] }, error],
    ['{ args.to: { any: { gt: 1 } } }', { to: [2, 'x'] }, fires],
    [
      '{ args.to: { any: { item.mail: { contains: evil } } } }',
      { to: [{ mail: 'ok' }, { mail: 'evil' }] },
      fires,
    ],
    ['{ args.to: { any: { item.a.b: { equals: 1 } } } }', { to: [{ a: { b: 2 } }, {}, 'x'] }, 'quiet'],
    ['{ args.to: { any: { item.mail: { ends_with: x }, } , on_missing: fire } }', { to: [{}] }, fires],
    ['{ args.0.to: { any: { equals: 1 } } }', { 0: { to: [1] } }, fires],
  ])('%s on %j', async (when, input, expected) => {
    expect(await decide(when, input)).toBe(expected);
  });

  test.each([
    '{ args.to: { any: {} } }',
    '{ args.to: { any: { equals: 1, gt: 2 } } }',
    '{ args.to: { any: { equals: 1 }, every: { equals: 1 } } }',
    '{ args.to: { any: { item.: { equals: 1 } } } }',
    '{ args.to: { any: { any: { equals: 1 } } } }',
    '{ args.to: { any: { item.a: { every: { equals: 1 } } } } }',
    '{ found.paths: { any: { contains: x } } }',
  ])('%s is refused', (when) => {
    expect(problemsOf(head('quittance/v1') + rule(when))).toContain('rules[0].when');
  });

  test('hide the whole list in a result', async () => {
    const text = `${head('quittance/v1')}rules:\n  - { id: a, type: post, tool: send, when: { result.rows: { any: { item.ssn: { exists: true } } } }, then: { action: redact, message: m } }\n`;
    const { output } = await contractsFromYamlString(text).evaluateOutput(
      { toolName: 'send' },
      { type: 'result', value: { rows: [{ a: 1 }, { ssn: 'x' }], count: 2 } },
    );
    expect(output).toEqual({ rows: '[REDACTED]', count: 2 });
  });
});

describe('an operand with from', () => {
  const metadata = { contacts: ['a@x.org'], owner: 'ada', most: 5, number: 1 };
  test.each<[string, object, boolean | 'quiet']>([
    ['{ args.to: { not_in: { from: metadata.contacts } } }', { to: 'b@y.org' }, fires],
    ['{ args.to: { not_in: { from: metadata.contacts } } }', { to: 'a@x.org' }, 'quiet'],
    [
      '{ not: { args.to: { every: { in: { from: metadata.contacts } } } } }',
      { to: ['a@x.org', 'b@y.org'] },
      fires,
    ],
    ['{ not: { args.to: { every: { in: { from: metadata.contacts } } } } }', { to: ['a@x.org'] }, 'quiet'],
    ['{ args.by: { equals: { from: metadata.owner } } }', { by: 'ada' }, fires],
    ['{ args.by: { equals: { from: metadata.owner } } }', { by: 'metadata.owner' }, 'quiet'],
    ['{ args.n: { gt: { from: metadata.most } } }', { n: 6 }, fires],
    ['{ args.n: { gt: { from: metadata.most } } }', { n: 5 }, 'quiet'],
    ['{ args.text: { contains: { from: args.word } } }', { text: 'a b', word: 'b' }, fires],
    // A missing operand, or one of the wrong type, makes the rule fire.
    ['{ args.to: { in: { from: metadata.absent } } }', { to: 'x' }, error],
    ['{ args.to: { not_in: { from: metadata.owner } } }', { to: 'x' }, error],
    ['{ args.to: { contains: { from: metadata.number } } }', { to: 'x' }, error],
    ['{ args.absent: { in: { from: metadata.absent } } }', {}, 'quiet'],
  ])('%s on %j', async (when, input, expected) => {
    expect(await decide(when, input, { metadata })).toBe(expected);
  });

  test.each([
    '{ args.a: { matches: { from: metadata.pattern } } }',
    '{ args.a: { exists: { from: metadata.pattern } } }',
    '{ args.a: { equals: { from: result.x } } }',
    '{ args.a: { equals: { from: nowhere.x } } }',
    '{ args.a: { equals: { from: 1 } } }',
    '{ args.a: { equals: { from: args.b, literal: x } } }',
  ])('%s is refused', (when) => {
    expect(problemsOf(head('quittance/v1') + rule(when))).toContain('rules[0].when');
  });

  test('finds a secret of the call in a result, also if JSON escapes it', async () => {
    const text = `${head('quittance/v1')}rules:\n  - { id: a, type: post, tool: send, when: { output.text: { contains: { from: args.word } } }, then: { action: redact, message: m } }\n`;
    const { output } = await contractsFromYamlString(text).evaluateOutput(
      { toolName: 'send', input: { word: 'a"b' } },
      { type: 'result', value: { note: 'x a"b y' } },
    );
    expect(output).toEqual({ note: 'x [REDACTED] y' });
  });
});

const traps: readonly (readonly [when: string, code: string, advice: string])[] = [
  ["{ args.recipients.*: { contains: evil } }", 'item_selector', 'args.recipients: {any: {'],
  ["{ args.recipients.*.mail: { contains: evil } }", 'item_selector', 'args.recipients: {any: {'],
  ["{ 'args.recipients[0]': { equals: evil } }", 'item_selector', 'args.recipients: {any: {'],
  ["{ 'args.recipients[].mail': { exists: true } }", 'item_selector', 'args.recipients: {any: {'],
  ['{ args.to: { equals: metadata.owner } }', 'selector_as_text', '{from: metadata.owner}'],
  ['{ args.to: { in: [x, metadata.owner] } }', 'selector_as_text', '{from: metadata.owner}'],
  ['{ args.to: { contains: principal.user_id } }', 'selector_as_text', '{from: principal.user_id}'],
  ['{ args.to: { starts_with: env.HOME } }', 'selector_as_text', '{from: env.HOME}'],
  ["{ args.to: { equals: '{metadata.owner}' } }", 'selector_as_text', '{from: metadata.owner}'],
  ["{ args.to: { not_in: ['{{ metadata.owner }}'] } }", 'selector_as_text', '{from: metadata.owner}'],
  ["{ args.to: { contains: '${principal.user_id}' } }", 'selector_as_text', '{from: principal.user_id}'],
  ['{ args.to: { equals: $metadata.owner } }', 'selector_as_text', '{from: metadata.owner}'],
  ['{ args.to: { equals: $.args.from } }', 'selector_as_text', '{from: args.from}'],
]; // oxfmt-ignore

describe('a spelling that means something else', () => {
  test.each(traps)('%s is refused in quittance/v1, with what to write', (when, _code, advice) => {
    expect(problemsOf(head('quittance/v1') + rule(when))).toContain(advice);
  });

  test.each(traps)('%s loads in edictum/v1, and the check warns', (when, code, advice) => {
    const warnings = contractsFromYamlString(head('edictum/v1') + rule(when)).check();
    expect(warnings).toContainEqual(
      expect.objectContaining({ code, ruleId: 'a', advice: expect.stringContaining(advice) as string }),
    );
  });

  test.each([
    ['{ args.to: { contains: evil } }', 'the rule fires on every call'],
    ['{ not: { args.more.to: { gt: 1 } } }', 'the rule fires on every call'],
    ['{ args.to: { in: [evil] } }', 'never holds'],
    ['{ any: [{ args.to: { not_equals: evil } }] }', 'always holds'],
  ])('%s on an argument that is a list by its schema gets a warning', (when, message) => {
    const to = { type: 'array', items: { type: 'string' } };
    const inputSchema = {
      type: 'object',
      properties: { to, more: { type: 'object', properties: { to } }, one: { type: 'string' } },
    };
    for (const version of ['edictum/v1', 'quittance/v1'] as const) {
      const contracts = contractsFromYamlString(head(version) + rule(when));
      expect(contracts.check([{ name: 'send', inputSchema }])).toContainEqual(
        expect.objectContaining({
          code: 'list_argument',
          message: expect.stringContaining(message) as string,
        }),
      );
      for (const known of ['send', { name: 'send' }, { name: 'other', inputSchema }])
        expect(JSON.stringify(contracts.check([known]))).not.toContain('list_argument');
    }
    const items = contractsFromYamlString(head('quittance/v1') + rule('{ args.to: { any: { equals: x } } }'));
    expect(items.check([{ name: 'send', inputSchema }])).toEqual([]);
  });

  test('gets a warning for a list by its name, unless a schema says otherwise', () => {
    const when = '{ args.mail.recipients: { contains: evil } }';
    const contracts = contractsFromYamlString(head('edictum/v1') + rule(when));
    const codes = (type?: string): readonly string[] =>
      contracts
        .check([
          {
            name: 'send',
            ...(type !== undefined && {
              inputSchema: { properties: { mail: { properties: { recipients: { type } } } } },
            }),
          },
        ])
        .map(({ code }) => code);
    expect(contracts.check().map(({ code }) => code)).toEqual(['list_argument']);
    expect([codes(), codes('array'), codes('string')]).toEqual([['list_argument'], ['list_argument'], []]);
  });

  test.each([
    [
      'args.count: { contains: "5" }',
      'argument_type',
      'is an integer: contains cannot judge it, so the rule fires',
    ],
    ['args.count: { equals: "5" }', 'argument_type', 'is an integer: equals never holds'],
    ['args.count: { not_in: ["5", x] }', 'argument_type', 'is an integer: not_in always holds'],
    ['args.name: { gt: 5 }', 'argument_type', 'is a string: gt cannot judge it, so the rule fires'],
    ['args.flag: { equals: "true" }', 'argument_type', 'is a boolean: equals never holds'],
    ['args.inner: { equals: x }', 'argument_type', 'is an object: equals never holds'],
    [
      'args.name: { any: { equals: x } }',
      'argument_type',
      'is a string: any cannot judge it, so the rule fires',
    ],
    ['args.nmae: { equals: x }', 'unknown_argument', 'takes no argument args.nmae'],
    ['args.inner.length: { gt: 3 }', 'unknown_argument', 'takes no argument args.inner.length'],
    ['args.nmaes: { every: { equals: x } }', 'unknown_argument', 'takes no argument args.nmaes'],
  ])('%s gets the warning %s by the schema of the tool', (when, code, message) => {
    const closed = { type: 'object', additionalProperties: false } as const;
    const properties = {
      count: { type: 'integer' },
      name: { type: 'string' },
      flag: { type: 'boolean' },
      free: {},
      several: { type: ['string', 'number'] },
      inner: { ...closed, properties: { a: { type: 'string' } } },
    };
    const inputSchema = { ...closed, properties };
    const checked = (text: string, tools: readonly KnownTool[]): readonly string[] =>
      contractsFromYamlString(head('quittance/v1') + rule(text))
        .check(tools)
        .filter((each) => each.code === code)
        .map((each) => each.message);
    expect(checked(`{ ${when} }`, [{ name: 'send', inputSchema }])).toEqual([
      expect.stringContaining(message),
    ]);
    // Nothing is stated if the tool has no schema, or one that is open.
    expect(checked(`{ ${when} }`, [{ name: 'send' }])).toEqual([]);
    expect(checked(`{ ${when} }`, [{ name: 'send', inputSchema: { type: 'object' } }])).toEqual([]);
    const fine = [
      'args.count: { equals: 5 }',
      'args.count: { in: ["5", 5] }',
      'args.name: { contains: x }',
      'args.free: { contains: x }',
      'args.several: { gt: 1 }',
      'args.free.length: { equals: 3 }',
      'args.name: { equals: { from: metadata.owner } }',
    ];
    for (const each of fine) expect(checked(`{ ${each} }`, [{ name: 'send', inputSchema }])).toEqual([]);
  });

  test.each([
    '{ args.p: { ends_with: "*.env" } }',
    '{ args.p: { in: [a, /etc/*] } }',
    '{ args.p: { not_equals: "*.x" } }',
  ])('%s gets a warning about the asterisk', (when) => {
    for (const version of ['edictum/v1', 'quittance/v1'] as const)
      expect(contractsFromYamlString(head(version) + rule(when)).check()).toContainEqual(
        expect.objectContaining({ code: 'looks_like_glob' }),
      );
    const plain = when.replaceAll('*', '');
    expect(JSON.stringify(contractsFromYamlString(head('quittance/v1') + rule(plain)).check())).not.toContain(
      'looks_like_glob',
    );
  });

  test('means the letters after literal, without a warning', async () => {
    const when = '{ args.to: { in: [{ literal: metadata.owner }, metadata] } }';
    expect(await decide(when, { to: 'metadata.owner' })).toBe(fires);
    expect(await decide(when, { to: 'metadata' })).toBe(fires);
    expect(contractsFromYamlString(head('quittance/v1') + rule(when)).check()).toEqual([]);
  });
});
