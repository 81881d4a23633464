import type { PreviewedOperation } from '../../tool/preview.ts';

/** The snapshot of a preview for the body, exactly as the tool made it. */
export type Snapshot = PreviewedOperation & {
  /** Digest of the input that the preview was made for. */
  readonly inputDigest: string;
  /** Values in it that its stored form hides. */
  readonly hiddenValues: readonly string[];
};
