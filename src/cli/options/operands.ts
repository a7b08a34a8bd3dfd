import type { Target } from '../../client/index.ts'
import { readOperands } from './commandLine.ts'

export interface TaskOperands {
  readonly target: Target
  readonly taskId: string
}

/** TARGET and ID. */
export function readTaskOperands(operands: readonly string[], server: readonly string[] | undefined): TaskOperands {
  const { target, values } = readOperands(operands, server, ['ID'])
  const [taskId = ''] = values
  return { target, taskId }
}

export function taskUsage(command: string): string {
  return `[options] TARGET ID\n       pannier task ${command} [options] ID -- COMMAND …`
}
