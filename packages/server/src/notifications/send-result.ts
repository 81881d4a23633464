/** How one try to deliver a message ended. */
export type SendResult =
  | { readonly type: 'sent'; readonly answer: string }
  /** The target may take it later. `afterMs`: not before this time, if the target says so. */
  | { readonly type: 'try_later'; readonly problem: string; readonly afterMs: number | undefined }
  /** The target will never take it. */
  | { readonly type: 'refused'; readonly problem: string };
