import { afterAll, expect, test } from 'vitest';
import { shellLines } from '../bench/shell/lines.ts';
import { openRoom, shells, shrink, type Room } from '../bench/shell/run-line.ts';
import { readCommandText, type CommandText } from '../packages/quittance/src/base/command-text.ts';

const [bash] = shells;
if (bash === undefined) throw new Error('The list of shells starts with bash.');

const rooms: Room[] = [];
const roomFor = (read: (line: string) => CommandText): Room => {
  const room = openRoom(bash, read);
  rooms.push(room);
  return room;
};
afterAll(() => {
  for (const room of rooms) room.close();
});

// More lines and more shells: npm run fuzz -- --shell
test('bash runs, reads and writes only what the reader of command lines said, in 1,000 generated lines', async () => {
  const room = roomFor(readCommandText);
  const source = shellLines(20_261_118);
  let readable = 0;
  let ran = 0;
  for (let n = 0; n < 1_000; n++) {
    const judged = await room.judge(source.next().value);
    if (judged === 'unreadable') continue;
    readable++;
    if (judged === 'ran') ran++;
    if (typeof judged !== 'object') continue;
    const { line, did, said } = await shrink(room, judged);
    expect.fail(`${JSON.stringify(line)}: bash ${did.join('; ')}. The reader said ${JSON.stringify(said)}.`);
  }
  // Otherwise the lines would show little.
  expect(readable).toBeGreaterThan(250);
  expect(ran / readable).toBeGreaterThan(0.9);
});

test('the comparison with bash sees words, programs, inputs and files that a reader missed', async () => {
  const saying = async (line: string, said: string): Promise<unknown> => {
    const judged = await roomFor(() => readCommandText(said)).judge(line);
    return typeof judged === 'object' ? judged.did : judged;
  };
  expect(await saying('ls a', 'ls a')).toBe('ran');
  expect(await saying('ls a', 'ls "a" b')).toEqual(['ran ["ls","a"]']);
  expect(await saying('ls a; rm b', 'ls a')).toEqual(['ran ["rm","b"]']);
  expect(await saying('ls a; ls a', 'ls a')).toEqual(['ran ["ls","a"]']);
  expect(await saying('no-such-program a', 'ls')).toEqual(['ran ["no-such-program","a"]']);
  expect(await saying('eval ls', 'eval ls')).toBe('ran');
  expect(await saying('./tool a', './tool')).toEqual(['ran ["./tool","a"]']);
  expect(await saying('cat <a', 'cat')).toEqual([expect.stringMatching(/^read .*\/work\/a$/)]);
  expect(await saying('cat <link', 'cat <a')).toBe('ran');
  expect(await saying('ls >new', 'ls')).toEqual(['changed work/new']);
  expect(await saying('ls >>a', 'ls')).toEqual(['changed work/a']);
  expect(await saying('ls 2>../outside/keep', 'ls 2>keep')).toEqual(['changed outside/keep']);
  expect(await saying('ls >link', 'ls >link')).toBe('ran');
});
