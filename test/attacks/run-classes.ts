/** Makes every attempt of every class and counts the results. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AttackClass, Door, Family, Verdict } from './attack-class.ts';

export type ClassResult = {
  readonly family: string;
  readonly file: string;
  readonly id: string;
  readonly title: string;
  readonly tried: number;
  /** Refused, or left to a person. */
  readonly held: number;
  /** Of those, left to a person. */
  readonly asked: number;
  /** Names of the attempts that worked, and of those that could not be made. */
  readonly through: readonly string[];
};

/** The door without the parts that the harness gives to each class. */
export type PackageDoor = Omit<Door, 'newFolder' | 'onEnd'>;

export async function* runFamilies(
  families: readonly Family[],
  door: PackageDoor,
  stop: AbortSignal = new AbortController().signal,
): AsyncGenerator<ClassResult> {
  for (const { title, file, classes } of families)
    for (const each of classes) {
      if (stop.aborted) return;
      yield { family: title, file, ...(await runClass(each, door, stop)) };
    }
}

export async function runClass(
  { id, title, attempts }: AttackClass,
  door: PackageDoor,
  stop: AbortSignal = new AbortController().signal,
): Promise<Omit<ClassResult, 'family' | 'file'>> {
  const folders: string[] = [];
  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-attack-'));
    folders.push(folder);
    return folder;
  };
  const closers: (() => Promise<void>)[] = [];
  const onEnd = (close: () => Promise<void>): void => void closers.push(close);
  const through: string[] = [];
  let tried = 0;
  let asked = 0;
  try {
    for (const { name, run } of attempts) {
      if (stop.aborted) break;
      tried++;
      let verdict: Verdict;
      try {
        verdict = await run({ ...door, newFolder, onEnd });
      } catch (error) {
        through.push(`${name} (the attempt itself failed: ${String(error)})`);
        continue;
      }
      if (verdict === 'through') through.push(name);
      if (verdict === 'asked') asked++;
    }
  } finally {
    for (const close of closers) await close();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
  return { id, title, tried, held: tried - through.length, asked, through };
}
