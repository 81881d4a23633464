/** Words of a command that name no resource. */
import { type ProgramRun } from './run-programs.ts';

/** Words that name nothing, of the command and of the commands that it runs by its own words. */
export function dataWords(inner: ProgramRun['inner'], data: ReadonlySet<number>): (index: number) => boolean {
  const nested = inner.flatMap(({ at, runs, fromText }) =>
    fromText || typeof runs !== 'object'
      ? []
      : runs.map((run) => ({ at, isData: dataWords(run.inner, run.data) })),
  );
  return (index) => data.has(index) || nested.some(({ at, isData }) => index > at && isData(index - at));
}
