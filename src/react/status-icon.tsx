import type { ReactNode } from 'react';
import type { DisplayStatus } from '../view/tool-call-view.ts';

/** Every status has its own shape, so that color is never the only difference. */
const shapes: { readonly [Status in DisplayStatus]: ReactNode } = {
  requested: <path d="M8 4.5v3.8l2.4 1.5" />,
  held: <path d="M6.2 5v6M9.8 5v6" />,
  running: <path className="qt-spin" d="M8 3.6a4.4 4.4 0 1 1-4.4 4.4" />,
  succeeded: <path d="m4.8 8.3 2.2 2.2 4.2-4.6" />,
  failed: <path d="m5.5 5.5 5 5m0-5-5 5" />,
  denied: <path d="M4.6 8h6.8" />,
  timed_out: <path d="M5.2 4.2h5.6L5.2 11.8h5.6z" />,
  indeterminate: <path d="M6.1 6.3a1.9 1.9 0 1 1 2.7 1.8c-.6.3-.8.6-.8 1.2M8 11.4v.1" />,
  undone: <path d="M5 7h4.2a2.1 2.1 0 0 1 0 4.2H6.6M6.8 4.9 4.7 7l2.1 2.1" />,
};

/** Icon for a status; the label next to it says the same. */
export function StatusIcon({ status }: { readonly status: DisplayStatus }): ReactNode {
  return (
    <span className="qt-icon" aria-hidden="true">
      <svg
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      >
        {shapes[status]}
      </svg>
    </span>
  );
}
