import { ToolError } from 'quittance/internal/call/tool-error';

/**
 * The error of a framework that refused the arguments of a tool, as a failure without effect: the tool did not run.
 * Any other error is returned unchanged. Frameworks are recognized by the name of the class.
 */
export const toRefusedInput = (thrown: unknown, className: string): unknown =>
  thrown instanceof Error && thrown.constructor.name === className
    ? new ToolError('tool.invalid_input', thrown.message, { effect: 'none', cause: thrown })
    : thrown;
