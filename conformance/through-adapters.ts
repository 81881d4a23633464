/** Runs the cases about adapters through each adapter, on its real framework. */
import type { Problems } from './case.ts';
import type { Found } from './find-cases.ts';
import type { MakeCaller } from './make-caller.ts';
import { runWorkflowCase } from './workflow-case.ts';

/** An adapter to make calls through. */
export type Adapter = { readonly name: string; readonly makeCaller: MakeCaller };

/** By its folder, because the case itself does not say. */
export const isAboutAdapters = (found: Found): boolean =>
  found.kind === 'workflow' && /adapter/.test(`${found.folder}/${found.file}`);

/** The problems of a case with each of the adapters. */
export async function problemsThrough(
  found: Found,
  adapters: readonly Adapter[],
): Promise<ReadonlyMap<string, Problems>> {
  const problems = new Map<string, Problems>();
  if (found.kind !== 'workflow') return problems;
  for (const { name, makeCaller } of adapters) {
    try {
      problems.set(name, await runWorkflowCase(found.case, makeCaller));
    } catch (error) {
      problems.set(name, [`threw ${error instanceof Error ? error.message : String(error)}`]);
    }
  }
  return problems;
}
