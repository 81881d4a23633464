import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** Every name of the source documents. Each must be findable: see docs/names.md. */
const names =
  `ToolOutcome ToolExecutionResult ToolTimeout ToolFailure ToolDenied ToolArtifactReference call_id tool_name elapsed_ms
  was_coerced deadline_s artifact_id size_bytes outcome_to_model_content outcome_is_error outcome_is_retryable
  outcome_blocks_tool TOOL_MESSAGE_MAX_CHARS retry_on_timeout blocked_tool_names ReplayControl record_success
  record_failure on_pre_tool_use ToolArgValidator TurnBudget is_expired ArtifactStore read_file bounded_executor
  _apply_outcome_to_state ToolAuditOutcome Blocked RequiresConfirmation Cached Replayed Invalidated Completed
  PersistenceFailed kind() result() non_exhaustive ToolDecision ListenExecutionContext listen_context ToolResult
  tool_call_start ToolError payload_extras tool.responded behavior.failed triggering_event_id retry.requested @behavior
  LLMBehaviorError run_goal graph.emit unknown-tool-error failure-model RecordedTool tool.fixture_missing @tool
  success_check _default_success_check tool_success Edictum from_yaml from_yaml_string from_template from_multiple
  ToolCall additionalProperties TraceSpan needsFollowup nextAction ToolMode decide_tool_mode isTerminalResult
  is_terminal_result useToolCallStatus cuid2`.split(/\s+/);

const page = readFileSync('docs/names.md', 'utf8');

describe('the required names', () => {
  it.each(names)('%s has its place', (name) => {
    expect(page).toContain(name);
  });

  it('are exported by the door that the page names', () => {
    const listed = new Map(
      readFileSync('test/doors.txt', 'utf8')
        .split('\n\n')
        .map((door) => door.trim().split('\n'))
        .map(([door = '', ...exported]) => [door, exported.map((line) => line.trim().split(/\s+/)[1])]),
    );
    const rows = [...page.matchAll(/^\| `(@?quittance[/a-z-]*)` +\| (.+) \|$/gm)];
    expect(rows.length).toBeGreaterThan(4);
    for (const [, door = '', cell = ''] of rows)
      for (const [, name] of cell.matchAll(/`([^`]+)`/g))
        expect([door, ...(listed.get(door) ?? [])]).toContain(name);
  });

  it('are in files that exist, if the page names one', () => {
    for (const [, path] of page.matchAll(/`(packages\/[^`]+\.ts)`/g))
      expect(readFileSync(path ?? '', 'utf8')).not.toBe('');
    const places = [...page.matchAll(/`(\w+)` in `(packages\/[^`]+\.ts)`/g)];
    expect(places.length).toBeGreaterThan(0);
    for (const [, name, path] of places)
      expect(readFileSync(path ?? '', 'utf8')).toMatch(new RegExp(`export (?:const|function) ${name}\\b`));
  });
});
