import type { ReactNode } from 'react';
import { Dialog } from './dialog.tsx';

type Props = {
  readonly entries: readonly { readonly label: string; readonly key: string }[];
  readonly onClose: () => void;
};

const everywhere: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['j, k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['p', 'Pause or resume the live tail'],
  ['a', 'Approve, then confirm with Ctrl+Enter'],
  ['d', 'Deny'],
  ['e', 'Edit the arguments'],
  ['r', 'Respond in place of the tool'],
  ['?', 'Show this help'],
];

export function ShortcutHelp({ entries, onClose }: Props): ReactNode {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="keys">
        {entries.map(({ label, key }) => (
          <div key={key}>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
        {everywhere.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(', ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
