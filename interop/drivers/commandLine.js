/** Programs that make one request and end. Connecting is their first request; cancelling is Ctrl-C. */
import { spawn } from 'node:child_process'

/**
 * @param {{ program: string, list: Function, call: Function, names: Function, text: Function }} commandLine the arguments
 *   of each request, and how its output is read
 * @returns {import('../driver.ts').Driver}
 */
export function commandLineDriver({ program, list, call, names, text }) {
  return {
    async open(target, { era }) {
      const listed = async () => names(await run(program, list(target, era)))
      await listed()
      return {
        list: listed,
        call: async (name, args, { signal }) => text(await run(program, call(target, name, args, era), signal)),
        close: async () => {},
      }
    },
  }
}

/** Its standard output. Rejects with its standard error when it fails. */
function run(program, args, signal) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (errors += chunk))
  signal?.addEventListener('abort', () => child.kill('SIGINT'))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${errors}${output}`.trim() || `It ended with ${code}.`))
    })
  })
}
