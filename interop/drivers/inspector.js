/** The command line of the Inspector. */
import { commandLineDriver } from './commandLine.js'
import { textOf } from './textOf.js'

/** @returns {import('../driver.ts').Driver} `options`: arguments for an era, where the version can be told one */
export function inspectorDriver(program, options = () => []) {
  const request = (target, era, ...rest) => {
    const server = 'url' in target ? [target.url, '--transport', 'http'] : [target.command, ...target.args]
    return ['--cli', ...server, ...options(era), ...rest]
  }
  return commandLineDriver({
    program,
    list: (target, era) => request(target, era, '--method', 'tools/list'),
    call: (target, name, args, era) => {
      const pairs = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`])
      return request(target, era, '--method', 'tools/call', '--tool-name', name, ...pairs)
    },
    names: (output) => resultIn(output).tools.map(({ name }) => name),
    text: (output) => textOf(resultIn(output)),
  })
}

/** Version 2 puts the result into an envelope. */
function resultIn(output) {
  const parsed = JSON.parse(output)
  return parsed.result ?? parsed
}
