/**
 * Plays the scenes: makes the calls of the scripted agent, prints them, and compares each with its script.
 * Differences are collected, never thrown, so that the whole demo is shown.
 */
import type { Runtime, ToolCallInput, Turn, TurnOptions } from 'quittance';
import { outcomeToModelContent } from 'quittance';
import { checkAuditOrder } from 'quittance/events';
import type { Answer, Ends } from './ends.ts';
import { toCode, toEnds, toWord } from './ends.ts';
import { printNote, printRow, printScene } from './table.ts';
import type { World } from './world.ts';

export const sessionId = 'bakery';

/** A sentence, and the code that shows that it is true. */
export type Scene = { readonly title: string; readonly play: (stage: Stage) => Promise<void> };

/** The expected result of a call. */
export type Script = {
  readonly ends: Ends;
  readonly happened: string;
  /** The expected audit records of the call. Default: one, blocked for a denial, completed for the rest. */
  readonly records?: readonly string[];
};

/** The actions of a scene. */
export type Stage = {
  readonly world: World;
  readonly runtime: Runtime;
  readonly openTurn: (options?: Partial<TurnOptions>) => Turn;
  /** A call with a new id, as a model would send it. */
  readonly request: (name: string, args?: ToolCallInput['arguments']) => ToolCallInput;
  /** Makes a call and shows it. */
  readonly ask: (
    turn: Turn,
    name: string,
    args: ToolCallInput['arguments'],
    script: Script,
  ) => Promise<Answer>;
  /** Shows a call that was made. */
  readonly show: (call: ToolCallInput, answer: Answer, script: Script) => void;
  readonly note: (text: string) => void;
  /** A fact about the world that must hold. */
  readonly check: (claim: string, holds: boolean) => void;
};

export type Report = {
  readonly answers: readonly Answer[];
  readonly checks: number;
  /** Differences from the script, as sentences. */
  readonly failures: readonly string[];
};

export async function playAll(scenes: readonly Scene[], runtime: Runtime, world: World): Promise<Report> {
  const answers: Answer[] = [];
  const failures: string[] = [];
  let checks = 0;
  let calls = 0;
  for (const [index, { title, play }] of scenes.entries()) {
    const expected = new Map<string, readonly string[]>();
    const check = (claim: string, holds: boolean): void => {
      checks++;
      if (!holds) failures.push(`Scene ${index + 1}: ${claim}`);
    };
    const stage: Stage = {
      world,
      runtime,
      check,
      note: printNote,
      openTurn: (options) => runtime.turn({ sessionId, ...options }),
      request: (name, args = {}) => ({ id: `call_${++calls}`, name, arguments: args }),
      async ask(turn, name, args, script) {
        const call = stage.request(name, args);
        const answer = await turn.call(call);
        stage.show(call, answer, script);
        return answer;
      },
      show(call, answer, script) {
        answers.push(answer);
        const asked = describe(call);
        printRow({
          asked,
          happened: script.happened,
          outcome: toWord(answer),
          reason: answer.type === 'ToolDenied' ? answer.reason : '',
          code: answer.type === 'pending' ? 'call.pending' : toCode(answer),
          told:
            answer.type === 'pending'
              ? 'nothing yet: the caller repeats the request later'
              : shortenIds(tellOf(answer)),
        });
        const ended = toEnds(answer);
        check(`"${asked}" should end as ${script.ends}, but ended as ${ended}.`, ended === script.ends);
        expected.set(call.id, script.records ?? [answer.type === 'ToolDenied' ? 'blocked' : 'completed']);
      },
    };
    printScene(index + 1, title);
    try {
      await play(stage);
    } catch (error) {
      check(`it stopped early. ${error instanceof Error ? error.stack : String(error)}`, false);
    }
    for (const [callId, kinds] of expected) await checkRecords(runtime, callId, kinds, answers, check);
  }
  return { answers, checks, failures };
}

/** Compares the stored call with the script and with the answer. */
async function checkRecords(
  runtime: Runtime,
  callId: string,
  expected: readonly string[],
  answers: readonly Answer[],
  check: Stage['check'],
): Promise<void> {
  const kinds = (await runtime.calls.audit({ sessionId, callId })).map(({ outcome }) => outcome.kind);
  check(
    `the records of ${callId} should be ${expected.join(', ')}, but are ${kinds.join(', ')}.`,
    kinds.join() === expected.join(),
  );
  const [call] = await runtime.calls.list({ sessionId, callId });
  if (call?.settled === undefined) return;
  const { content, outcome } = call.settled;
  check(`the records of ${callId} should be in a legal order.`, checkAuditOrder(kinds, { settled: true }).ok);
  check(
    `the model's text about ${callId} should be the stored one.`,
    content === outcomeToModelContent(outcome) && answers.some((answer) => tellOf(answer) === content),
  );
}

const tellOf = (answer: Answer): string => (answer.type === 'pending' ? '' : outcomeToModelContent(answer));

/** `read_file {path:"orders.csv"}`: short, but complete enough to recognize. */
function describe({ name, arguments: args }: ToolCallInput): string {
  if (typeof args === 'string') return `${name} ${args}`;
  const text = JSON.stringify(args).replaceAll(/"(\$?\w+)":/g, '$1:');
  return text === '{}' ? name : `${name} ${shortenIds(text)}`;
}

const shortenIds = (text: string): string =>
  text.replaceAll(/\b(art|cnf)_([0-9a-f]{4})[0-9a-f]{28}/g, '$1_$2');
