/**
 * Tools that the program behind the Claude Agent SDK runs itself, such as Bash and Write, judged and recorded here.
 *
 * The call is made like any other: gates, approval if needed, intent. The program acts as the tool's function. It
 * starts when the hook allows it, and ends with the program's report.
 */
import { ToolError } from 'quittance/internal/call/tool-error';
import { quote } from 'quittance/internal/base/nearest';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import type { Answer } from '@quittance/adapter-kit/internal/answer/answer';
import type { ClaudeAgentCall } from './tool.ts';

/** Lets the program start with these arguments, and waits for its report. */
type Begin = (args: unknown) => Promise<unknown>;

/** A call that the hook allowed, or its outcome. */
export type Begun =
  | { readonly type: 'begun'; readonly args: unknown }
  | { readonly type: 'ended'; readonly answer: Answer };

/** The report of the program. */
export type ProgramReport = { readonly output: unknown } | { readonly error: string };

/** Default limit for the program, unless `overrides` set one: the limit of its own Bash tool. */
export const programTimeoutMs = 600_000;

export class ProgramTools {
  readonly #begins = new WeakMap<ClaudeAgentCall, Begin>();
  readonly #running = new Map<
    string,
    { readonly report: (report: ProgramReport) => void; readonly made: Promise<Answer> }
  >();

  /** The tool for the runtime. */
  adopt(name: string): AdoptedTool<ClaudeAgentCall> {
    return {
      name,
      description: `The tool ${name} of the program.`,
      run: (args, native) => {
        const begin = native && this.#begins.get(native);
        if (begin !== undefined) return begin(args);
        throw new ToolError(
          'tool.execution_error',
          `The program behind the SDK runs the tool ${quote(name)}, and it has not requested this call. ` +
            'Resume the query, so that it requests it again.',
          { retryable: true, problem: 'The program that runs this tool was not available. Nothing ran.' },
        );
      },
    };
  }

  /** Makes the call until the program may start, or until the call has ended. */
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

  /** Processes a report and returns the answer to the call. Undefined if no such call runs. */
  async report(toolUseId: string, said: ProgramReport): Promise<Answer | undefined> {
    const running = this.#running.get(toolUseId);
    running?.report(said);
    return running?.made;
  }
}
