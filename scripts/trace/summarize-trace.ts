/** A function was entered, or left. */
export type Step = { readonly type: 'entered' | 'left'; readonly frame: number; readonly path: string };

export type TraceSummary = {
  readonly functions: number;
  readonly files: number;
  /** How often the top-level folder of `src` changes from one function entered to the next. */
  readonly folderEntries: number;
  /** The steps of the call in the order of their entries. */
  readonly steps: readonly string[];
  /** How often the call entered a step that it had left before. */
  readonly returns: number;
};

/** Values: every folder uses them. */
const notCounted = new Set(['base', 'tool']);
/** The files of the steps that `runtime/run-call.ts` names. */
const stepFiles = new Set(['recall', 'gates', 'hold', 'intent', 'attempt', 'judge', 'settle']);

/**
 * A step is left only when none of its functions runs or waits any more, and another step was entered since. So a
 * return means that the call went on to another step and then came back to do more of the first one's work.
 */
export function summarizeTrace(trace: readonly Step[]): TraceSummary {
  const paths = trace.filter(({ type }) => type === 'entered').map(({ path }) => path);
  const folders = paths.map(folderOf).filter((folder) => !notCounted.has(folder));
  const stack: Step[] = [];
  const steps: string[] = [];
  let returns = 0;
  for (const each of trace) {
    if (each.type === 'left') {
      const at = stack.findLastIndex(({ frame }) => frame === each.frame);
      if (at >= 0) stack.splice(at, 1);
      continue;
    }
    const step = stepOf(each.path);
    const isOpen = steps.at(-1) === step || stack.some(({ path }) => stepOf(path) === step);
    if (step !== undefined && !isOpen) {
      if (steps.includes(step)) returns++;
      steps.push(step);
    }
    stack.push(each);
  }
  return {
    functions: paths.length,
    files: new Set(paths).size,
    folderEntries: folders.filter((folder, index) => folder !== folders[index - 1]).length,
    steps,
    returns,
  };
}

const folderOf = (path: string): string => path.replace('packages/quittance/src/', '').split('/')[0] ?? '';

function stepOf(path: string): string | undefined {
  const [, step = ''] = /^packages\/quittance\/src\/runtime\/([a-z-]+)\.ts$/.exec(path) ?? [];
  return stepFiles.has(step) ? step : undefined;
}
