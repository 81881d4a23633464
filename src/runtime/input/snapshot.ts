import type { PreviewedOperation } from '../../tool/preview.ts';

/** What the body of a call must be given of its preview, exactly as the tool made it. */
export type Snapshot = PreviewedOperation & {
  /** Of the input the preview was made for. */
  readonly inputDigest: string;
  /** What stands in it and is hidden where it is kept. */
  readonly hiddenValues: readonly string[];
};
