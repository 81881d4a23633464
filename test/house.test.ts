import { describe, expect, test } from 'vitest';
import { newHits, toBaseline } from '../scripts/house/baseline.ts';
import { worseMeters, type Meters } from '../scripts/house/meters.ts';
import { readText } from '../scripts/house/read-files.ts';
import { tics } from '../scripts/house/tics.ts';

const ticsIn = (path: string, text: string): string[] => readText(path, text).hits.map(({ tic }) => tic);
const inComment = (text: string): string[] => ticsIn('src/a.ts', `/** ${text} */\nexport const one = 1;\n`);

/** For each tic, sentences that have it and ordinary sentences that look like it. */
const samples: Readonly<
  Record<string, { readonly has: readonly string[]; readonly hasNot: readonly string[] }>
> = {
  nobody: { has: ['Nobody reads it.'], hasNot: ['No process reads it.'] },
  somebody: { has: ['Waits for somebody.', "Is somebody's turn."], hasNot: ['Waits for a person.'] },
  whoever: { has: ['Whoever asks gets it.'], hasNot: ['The caller gets it.'] },
  whose: {
    has: ['Whose token it is.', 'Whether what is shown is new.'],
    hasNot: ['Whose token is it?', 'Calls whose owner died.', 'Whether the owner lives.'],
  },
  what: {
    has: ['What is hidden stays hidden.', 'Whatever was open is closed.'],
    hasNot: ['What is it?', 'Shows what is open.', 'What a stage reads.'],
  },
  where: {
    has: ['Runs only where the tool allows it.', 'Where a call is held, the runtime waits.'],
    hasNot: ['The folder where it is kept.', 'Where it is stored, in one line.', 'Where does it run?'],
  },
  beside: {
    has: ['It is spilled beside it.', 'Reads run beside reads.'],
    hasNot: ['The key is beside the ledger.', 'Besides, it is fast.'],
  },
  'is no': {
    has: ['An id that is no text.', 'These are no events.'],
    hasNot: ['There is no event.', 'It is no longer open.', 'The answer is no.'],
  },
  'is none': { has: ['A number that is none.'], hasNot: ['There is none.', 'It is none of these.'] },
  'at it': { has: ['A process is at it.'], hasNot: ['Look at it.', 'Points at it.', 'At item one.'] },
  'in hand': { has: ['The call in hand.'], hasNot: ['A call in handling.'] },
  told: {
    has: ['The model is told so.', 'Told of every error.'],
    hasNot: ['They are told apart by id.', 'The promise told-equals-kept.'],
  },
  behaviour: { has: ['Two behaviours run.'], hasNot: ['Two behaviors run.'] },
};

describe('npm run house', () => {
  test('has a sample for every tic', () => {
    expect(Object.keys(samples)).toEqual(Object.keys(tics));
  });

  test.each(Object.entries(samples).flatMap(([tic, { has }]) => has.map((text) => [tic, text] as const)))(
    'finds %j in %j',
    (tic, text) => {
      expect(inComment(text)).toContain(tic);
      expect(ticsIn('docs/a.md', `${text}\n`)).toContain(tic);
      expect(ticsIn('src/a.ts', `say(${JSON.stringify(text)});\n`)).toContain(tic);
      expect(ticsIn('console/a.tsx', `export const Line = () => <p>${text}</p>;\n`)).toContain(tic);
    },
  );

  test.each(Object.values(samples).flatMap(({ hasNot }) => hasNot))('passes %j', (text) => {
    expect(inComment(text)).toEqual([]);
    expect(ticsIn('docs/a.md', `${text}\n`)).toEqual([]);
  });

  test('counts the words of a sentence: 25 in code, 30 in docs', () => {
    const words = (count: number): string => `The ${'long '.repeat(count - 2)}end.`;
    expect(inComment(words(25))).toEqual([]);
    expect(inComment(words(26))).toEqual(['long sentence']);
    expect(inComment(`${words(20)} ${words(20)}`)).toEqual([]);
    expect(ticsIn('docs/a.md', `${words(30)}\n`)).toEqual([]);
    expect(ticsIn('docs/a.md', `${words(31)}\n`)).toEqual(['long sentence']);
    expect(
      ticsIn('src/a.ts', `say('${words(14).slice(0, -1)}, ' + \`and ${'so on '.repeat(7)}\`);\n`),
    ).toEqual(['long sentence']);
  });

  test.each([
    [
      'const asked = call();\nawait other();\nawait expect(asked).rejects.toThrow();',
      'asked may reject unobserved',
    ],
    ['for (const each of asked) await expect(each).rejects.toThrow();', 'expect(each).rejects in a loop'],
    ['await vi.waitFor(() => expect(seen).toBe(1));', 'vi.waitFor'],
    ['await expect.poll(look, { timeout: 9_000 }).toBe(1);', 'expect.poll with a time limit'],
    ['await sleep(20);\nexpect(seen).toBe(1);', 'a sleep before expect'],
    [
      'await new Promise((resolve) => setTimeout(resolve, 20));\nexpect(seen).toBe(1);',
      'a sleep before expect',
    ],
    ['expect(performance.now() - before).toBeLessThan(100);', 'a bound on elapsed time'],
    [
      "expect(JSON.stringify(events)).not.toContain('0042');",
      "absence of '0042', which ids contain by chance",
    ],
    ['expect(event.text).not.toMatch(/i\\/o error|ada/);', "absence of 'ada', which ids contain by chance"],
    [
      "for (const word of ['a new one', 'bob']) expect(body).not.toContain(word);",
      "absence of 'bob', which ids contain by chance",
    ],
  ])('finds a wait of a test that fails on a busy machine: %j', (code, found) => {
    const text = `test('is one', async () => {\n${code}\n});\n`;
    expect(readText('src/a.test.ts', text).hits).toMatchObject([{ tic: 'flaky wait', line: 2, found }]);
    expect(readText('src/a.ts', text).hits).toEqual([]);
  });

  test.each([
    'const asked = call();\nawait expect(asked).rejects.toThrow();',
    'const asked = call();\nasked.catch(() => undefined);\nawait other();\nawait expect(asked).rejects.toThrow();',
    'const asked = call();\nawait other();\nawait expect(asked).resolves.toBe(1);',
    'const call = () => run();\nawait other();\nawait expect(call()).rejects.toThrow();',
    'for (const each of cases) await expect(run(each)).rejects.toThrow();',
    'await expect.poll(look, { interval: 9 }).toBe(1);',
    'while (!seen) await sleep(20);\nexpect(seen).toBe(1);',
    'expect(performance.now() - before).toBeGreaterThan(100);',
    "expect(JSON.stringify(events)).not.toContain('wyxqthlkmvzu');",
    'expect(JSON.stringify(events)).not.toContain(\'"t2"\');',
    "expect(names).not.toContain('bob');",
    'for (const each of await Promise.allSettled(asked)) expect(each).toMatchObject({ status: "rejected" });',
  ])('passes a wait of a test that does not depend on the load: %j', (code) => {
    expect(ticsIn('test/a.test.ts', `test('is one', async () => {\n${code}\n});\n`)).toEqual([]);
  });

  test('names the line of a hit in comments, texts over several lines and pages', () => {
    const at = (path: string, text: string): number[] => readText(path, text).hits.map(({ line }) => line);
    expect(at('src/a.ts', '/**\n * One line.\n *\n * Then nobody\n * reads.\n */\n')).toEqual([4]);
    expect(at('src/a.ts', '// One line,\n// and nobody reads.\n')).toEqual([2]);
    expect(at('src/a.ts', "say(\n  'One\\n\\nline ' +\n    'for nobody at all.',\n);\n")).toEqual([3]);
    expect(at('docs/a.md', '# One\n\nTwo lines\nfor nobody.\n\n| a | for nobody |\n')).toEqual([4, 6]);
  });

  test('reads prose only: no code, no data of tests, no generated page', () => {
    expect(inComment('The value `nobody` of https://example.test/nobody is a name.')).toEqual([]);
    expect(
      ticsIn('src/a.ts', "import { a } from './nobody.ts';\nconst nobody = /nobody \\/\\/ here at all/;\n"),
    ).toEqual([]);
    expect(ticsIn('docs/a.md', '```ts\n// nobody reads\n```\n')).toEqual([]);
    expect(ticsIn('test/a.test.ts', "test('runs', () => say('nobody reads this text'));\n")).toEqual([]);
    expect(ticsIn('test/a.test.ts', "test.each([1])('nobody reads this title', () => {});\n")).toEqual([
      'nobody',
    ]);
    expect(ticsIn('docs/a.md', '<!-- Generated by `npm run docs`. -->\n\nNobody.\n')).toEqual([]);
  });
});

describe('the baseline', () => {
  const old = '// Nobody reads.\nexport const one = 1;\n// Told of all.\n';
  const hitsOf = (
    files: Readonly<Record<string, string>>,
  ): Map<string, ReturnType<typeof readText>['hits']> =>
    new Map(Object.entries(files).map(([path, text]) => [path, readText(path, text).hits]));
  const baseline = toBaseline(hitsOf({ 'src/a.ts': old }));
  const worse = (files: Readonly<Record<string, string>>): string[] =>
    newHits(hitsOf(files), baseline).flatMap(({ file, hits }) =>
      hits.map(({ line, tic }) => `${file}:${line} ${tic}`),
    );

  test('lets old text stay, move to another file, and be split over two', () => {
    expect(worse({ 'src/a.ts': old })).toEqual([]);
    expect(worse({ 'src/b.ts': old })).toEqual([]);
    expect(worse({ 'src/a.ts': '// Told of all.\n', 'src/b.ts': '// Nobody\n// reads.\n' })).toEqual([]);
  });

  test('lets a rename change an old sentence', () => {
    expect(worse({ 'src/a.ts': old.replace('reads', 'writes') })).toEqual([]);
  });

  test('fails a file that gets worse, and names only the new text', () => {
    expect(worse({ 'src/a.ts': `${old}// Then somebody asks.\n` })).toEqual(['src/a.ts:4 somebody']);
  });

  test('fails a new file with a tic, and a copy of old text', () => {
    expect(worse({ 'src/a.ts': old, 'src/b.ts': '// Somebody asks.\n' })).toEqual(['src/b.ts:1 somebody']);
    expect(worse({ 'src/a.ts': old, 'src/b.ts': '// Nobody reads.\n' })).toEqual(['src/b.ts:1 nobody']);
  });

  test('gets shorter with the text', () => {
    const after = toBaseline(hitsOf({ 'src/a.ts': '// Told of all.\n' }));
    expect(newHits(hitsOf({ 'src/a.ts': old }), after)).toHaveLength(1);
  });
});

test('a meter of the structure may fall, and may not rise', () => {
  const recorded: Meters = {
    filesOfPlainCall: 60,
    filesOfHeldCall: 110,
    filesWithOneImporter: 400,
    membersOfLedger: 16,
    kindsOfThreads: 2,
  };
  expect(worseMeters({ ...recorded, membersOfLedger: 15 }, recorded)).toEqual([]);
  for (const name of Object.keys(recorded) as (keyof Meters)[])
    expect(worseMeters({ ...recorded, [name]: recorded[name] + 5 }, recorded)).toEqual([
      expect.stringContaining(`${name} rose`),
    ]);
});
