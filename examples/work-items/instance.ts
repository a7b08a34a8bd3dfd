/**
 * One instance as a process. It reads the keys from PANNIER_KEYS, as every Pannier server does, and sends its address
 * to its parent process, or prints it.
 */
import { explicitServer } from './explicit.ts'
import { inlineServer } from './server.ts'
import { WorkItems } from './workItems.ts'

const { WORK_ITEMS: path, INSTANCE: name = 'A', STYLE: style = 'inline', PORT: port = '0' } = process.env

if (path === undefined) fail('WORK_ITEMS must name the file of the work items.')
// An instance never outlives the process that started it.
process.on('disconnect', () => process.exit())

try {
  const items = new WorkItems(path, name)
  const server = style === 'explicit' ? explicitServer(items, name) : inlineServer(items, name)
  const { url } = await server.listen({ port: Number(port) })
  if (process.send === undefined) console.log(url)
  else process.send({ url })
} catch (error) {
  fail(reason(error))
}

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return `port ${port} is taken; set PORT to another one, or to 0 for any free one.`
  return message
}

function fail(sentence: string): never {
  console.error(`Instance ${name} cannot start: ${sentence}`)
  process.exit(1)
}
