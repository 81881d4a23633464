import type { ReactNode, SubmitEvent } from 'react';
import { useId, useState } from 'react';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
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
        {isOwn !== undefined && (
          <button type="button" className="ghost" onClick={() => setNaming(true)}>
            Rename
          </button>
        )}
        <CopyButton text={window.location.origin + viewAddress(view)} label="Copy link to this view" />
      </span>
      {naming && (
        <NameDialog
          before={isOwn?.name}
          onClose={() => setNaming(false)}
          onName={(name) => (isOwn === undefined ? saved.save(name, view) : saved.rename(isOwn.name, name))}
        />
      )}
    </nav>
  );
}

function NameDialog({
  before,
  onName,
  onClose,
}: {
  /** Name of the saved view, if it is renamed. */
  readonly before: string | undefined;
  /** Returns why the name cannot be used. */
  readonly onName: (name: string) => string | undefined;
  readonly onClose: () => void;
}): ReactNode {
  const [name, setName] = useState(before ?? '');
  const [problem, setProblem] = useState<string>();
  const problemId = useId();
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (name.trim() === '') return;
    const found = onName(name.trim());
    setProblem(found);
    if (found === undefined) onClose();
  };
  return (
    <Dialog title={before === undefined ? 'Save this view' : 'Rename this view'} onClose={onClose}>
      <form className="body name-view" onSubmit={submit}>
        <label>
          Name
          <input
            value={name}
            maxLength={40}
            required
            aria-invalid={problem !== undefined}
            aria-describedby={problem === undefined ? undefined : problemId}
            onChange={(event) => {
              setName(event.target.value);
              setProblem(undefined);
            }}
          />
        </label>
        {problem !== undefined && (
          <p className="field-problem" id={problemId} role="alert">
            <ForeignText text={problem} />
          </p>
        )}
        <p className="muted">The name is stored in this browser. To share the view, copy its link.</p>
        <button type="submit" className="primary">
          {before === undefined ? 'Save' : 'Rename'}
        </button>
      </form>
    </Dialog>
  );
}
