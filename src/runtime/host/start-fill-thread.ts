import { Worker } from 'node:worker_threads';

/** Starts a thread that fills read tables. `name`: its file, without extension. `siblingUrl`: of a module next to it. */
export function startFillThread(name: string, siblingUrl: string, workerData: object): Worker {
  // After a build the file is JavaScript; in the sources it is TypeScript.
  const extension = siblingUrl.slice(siblingUrl.lastIndexOf('.'));
  return new Worker(new URL(`./${name}${extension}`, siblingUrl), {
    workerData,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // It reads much and keeps little: without a limit the engine would not collect garbage for many steps.
    resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 },
  });
}
