import type { ErrorInfo, ReactNode } from 'react';
import { Component } from 'react';

type Props = {
  /** Somewhere else it is tried again. */
  readonly place: string;
  readonly children: ReactNode;
};
type State = { readonly error: Error | undefined };

/** Keeps a page that cannot be read or drawn from taking the whole console with it, and says what to do. */
export class Boundary extends Component<Props, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(thrown: unknown): State {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  override componentDidCatch(_: Error, { componentStack }: ErrorInfo): void {
    console.error('The page was taken down.', componentStack);
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
            ? 'A part of the console could not be read from the server. It may have stopped, or be a newer one than the page you have open.'
            : 'The console met something it did not expect. Nothing was changed by that, and nothing is lost: it only shows what the server has.'}
        </p>
        <p className="muted">
          <code>{error.message}</code>
        </p>
        <p>
          <button type="button" onClick={() => window.location.reload()}>
            Load it again
          </button>
        </p>
      </div>
    );
  }
}

/** What browsers throw where a module cannot be fetched; each has words of its own. */
const isMissingChunk = (error: Error): boolean =>
  /dynamically imported module|importing a module script|unable to preload/i.test(error.message);
