/** Starts the program of a server. Where that cannot be done it is no fault of the server, and an error says why. */
import type { ChildProcess } from 'node:child_process'
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio'
import { type CommandAddress, failureReason, startGroup } from '../../client/index.ts'
import { ProbeError } from '../errors.ts'

export async function startProgram(address: CommandAddress): Promise<ChildProcess> {
  const child = spawned(address)
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(refused(error)))
  })
  return child
}

/** A zero byte is refused at once, by an error that quotes what it stands in: that one is no cause to hand on. */
function spawned({ command, args, env, cwd }: CommandAddress): ChildProcess {
  try {
    return startGroup(command, args, { cwd, env: { ...getDefaultEnvironment(), ...env }, stdio: 'pipe' })
  } catch {
    throw notStarted('its command, folder or environment has a character that cannot be given to a program.')
  }
}

function refused(cause: Error): ProbeError {
  // The arguments, which may hold a secret.
  Reflect.deleteProperty(cause, 'spawnargs')
  return notStarted(failureReason(cause).why ?? 'the system refused.', { cause })
}

function notStarted(why: string, options?: ErrorOptions): ProbeError {
  return new ProbeError('PROBE_NOT_STARTED', `The server's program could not be started: ${why}`, options)
}
