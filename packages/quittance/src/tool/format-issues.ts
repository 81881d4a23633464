import { formatPath } from '../base/json.ts';
import type { SchemaIssue } from './schema-issue.ts';

const shown = 20;

/** The issues of a value in one line that a model can act on. */
export function formatIssues(issues: readonly SchemaIssue[]): string {
  const lines = issues.slice(0, shown).map(({ path, message }) => `${formatPath(path)}: ${message}`);
  if (issues.length > shown) lines.push(`and ${issues.length - shown} more`);
  return lines.join('; ');
}
