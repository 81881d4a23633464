import type { ErrorInfo, ReactNode } from 'react';
import { Component } from 'react';

type Props = {
  /** A change of place renders the page again. */
  readonly place: string;
  readonly children: ReactNode;
};
type State = { readonly error: Error | undefined };

/** Catches errors of a page, so that the rest of the console keeps working. */
export class Boundary extends Component<Props, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(thrown: unknown): State {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  override componentDidCatch(_: Error, { componentStack }: ErrorInfo): void {
    console.error('The page failed to render.', componentStack);
  }

  override componentDidUpdate({ place }: Props): void {
    if (place !== this.props.place && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="alone" role="alert">
        <h1>This page cannot be shown</h1>
        <p>
          {isMissingChunk(error)
            ? 'Part of the console could not be loaded. The server may have stopped, or may run a newer version than this page.'
            : 'The console hit an unexpected error. Your data is not affected: the console only displays it.'}
        </p>
        <p className="muted">
          <code>{error.message}</code>
        </p>
        <p>
          <button type="button" onClick={() => window.location.reload()}>
            Reload
          </button>
        </p>
      </div>
    );
  }
}

/** Each browser has its own message for a module that cannot be fetched. */
const isMissingChunk = (error: Error): boolean =>
  /dynamically imported module|importing a module script|unable to preload/i.test(error.message);
