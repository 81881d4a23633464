import type { ReactNode, SubmitEvent } from 'react';
import { useState } from 'react';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Link } from '../../ui/link.tsx';
import type { CallsView } from './calls-view.ts';
import { commonViews, viewAddress, viewKey } from './calls-view.ts';
import { useSavedViews } from './use-saved-views.ts';

/** Predefined and saved views. Each view is an address. */
export function ViewTabs({ view }: { readonly view: CallsView }): ReactNode {
  const saved = useSavedViews();
  const [naming, setNaming] = useState(false);
  const key = viewKey(view);
  const all = [...commonViews, ...saved.views];
  const isNamed = all.some((each) => viewKey(each.view) === key);
  const isOwn = saved.views.find((each) => viewKey(each.view) === key);
  return (
    <nav className="tabs view-tabs" aria-label="Views">
      {all.map(({ name, view: each }, index) => (
        <Link
          key={index < commonViews.length ? name : `own ${name}`}
          to={viewAddress(each)}
          aria-current={viewKey(each) === key ? 'page' : undefined}
        >
          {name}
        </Link>
      ))}
      <span className="view-actions">
        {/* One button for both actions, so that it keeps the focus. */}
        {(isOwn !== undefined || !isNamed) && (
          <button
            type="button"
            className="ghost"
            onClick={() => (isOwn === undefined ? setNaming(true) : saved.drop(isOwn.name))}
          >
            {isOwn === undefined ? 'Save view' : 'Delete view'}
          </button>
        )}
        <CopyButton text={window.location.origin + viewAddress(view)} label="Copy link to this view" />
      </span>
      {naming && (
        <NameDialog
          onClose={() => setNaming(false)}
          onName={(name) => {
            saved.save(name, view);
            setNaming(false);
          }}
        />
      )}
    </nav>
  );
}

function NameDialog({
  onName,
  onClose,
}: {
  readonly onName: (name: string) => void;
  readonly onClose: () => void;
}): ReactNode {
  const [name, setName] = useState('');
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (name.trim() !== '') onName(name.trim());
  };
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <form className="body name-view" onSubmit={submit}>
        <label>
          Name
          <input value={name} maxLength={40} required onChange={(event) => setName(event.target.value)} />
        </label>
        <p className="muted">The name is stored in this browser. To share the view, copy its link.</p>
        <button type="submit" className="primary">
          Save
        </button>
      </form>
    </Dialog>
  );
}
