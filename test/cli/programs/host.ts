/**
 * The program for many command lines, one after the other in one process: each message is a line with its environment,
 * folder and input, and is answered with what it wrote and its exit code.
 */
import { Readable } from 'node:stream'
import { redirectConsole, writeNote } from '../../../src/cli/output/screen.ts'
import { runProgram } from '../../../src/cli/program.ts'
import type { HostedLine, Ran } from '../fixtures/program.ts'

const written = { stdout: '', stderr: '' }

redirectConsole()
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (text: string | Uint8Array): boolean => {
    written[name] += String(text)
    return true
  }
}

async function run({ args, env, cwd, input }: HostedLine): Promise<Ran> {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(cwd)
  Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([input]) })
  Object.assign(written, { stdout: '', stderr: '' })
  process.exitCode = 0
  try {
    await runProgram(args)
  } catch (error) {
    writeNote(error instanceof Error ? (error.stack ?? error.message) : String(error))
    process.exitCode = 1
  }
  return { status: Number(process.exitCode), ...written }
}

process.on('message', (line: HostedLine) => void run(line).then((ran) => process.send?.(ran)))
process.once('disconnect', () => process.exit(0))
