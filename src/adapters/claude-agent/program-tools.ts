/**
 * Tools that the program behind the Claude Agent SDK runs itself, such as Bash and Write, judged and recorded here.
 *
 * The call is made as any other: gates, a person where one is wanted, the intent. Its body is the program: it begins
 * when the hook lets the program go on, and ends with what the program reports after.
 */
import { ToolError } from '../../call/tool-error.ts';
import { quote } from '../../base/nearest.ts';
import type { AdoptedTool } from '../adopt/adopted-tool.ts';
import type { Answer } from '../answer/answer.ts';
import type { ClaudeAgentCall } from './tool.ts';

/** Lets the program go on with these arguments, and waits for what it reports. */
type Begin = (args: unknown) => Promise<unknown>;

/** A call that the hook let through, or how it ended instead. */
export type Begun =
  { readonly type: 'begun'; readonly args: unknown } | { readonly type: 'ended'; readonly answer: Answer };

/** What the program reports. */
export type ProgramReport = { readonly output: unknown } | { readonly error: string };

/** The longest the program may take where `overrides` say nothing: as long as its own Bash may. */
export const programTimeoutMs = 600_000;

export class ProgramTools {
  readonly #begins = new WeakMap<ClaudeAgentCall, Begin>();
  readonly #running = new Map<
    string,
    { readonly report: (report: ProgramReport) => void; readonly made: Promise<Answer> }
  >();

  /** The tool as the runtime has it. */
  adopt(name: string): AdoptedTool<ClaudeAgentCall> {
    return {
      name,
      description: `The tool ${name} of the program.`,
      run: (args, native) => {
        const begin = native && this.#begins.get(native);
        if (begin !== undefined) return begin(args);
        throw new ToolError(
          'tool.execution_error',
          `The tool ${quote(name)} is run by the program behind the SDK, which has not asked for this call. Resume the ` +
            'query, so that it asks again.',
          { retryable: true, problem: 'The program that runs this tool was not there. Nothing ran.' },
        );
      },
    };
  }

  /** Makes the call until the program may begin, or until it has ended without. */
  async begin(native: ClaudeAgentCall, make: () => Promise<Answer>): Promise<Begun> {
    const started = Promise.withResolvers<Begun>();
    const reported = Promise.withResolvers<unknown>();
    this.#begins.set(native, (args) => {
      started.resolve({ type: 'begun', args });
      return reported.promise;
    });
    const made = make();
    const first = await Promise.race([
      started.promise,
      made.then((answer): Begun => ({ type: 'ended', answer })),
    ]);
    if (first.type === 'ended') return first;
    const report = (said: ProgramReport): void =>
      'error' in said ? reported.reject(new Error(said.error)) : reported.resolve(said.output);
    const forget = (): void => void this.#running.delete(native.toolUseId);
    this.#running.set(native.toolUseId, { report, made });
    made.then(forget, forget);
    return first;
  }

  /** Takes a report, and gives the answer to the call. Undefined where no such call runs. */
  async report(toolUseId: string, said: ProgramReport): Promise<Answer | undefined> {
    const running = this.#running.get(toolUseId);
    running?.report(said);
    return running?.made;
  }
}
