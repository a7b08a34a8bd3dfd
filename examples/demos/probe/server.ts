/** A server of the detection document's results table (STYLE: github or serena), an unclear one, or one of ours with a flag (FLAG). */
import { parseArgs } from 'node:util'
import { createServer } from 'pannier/server'
import { listenAsInstance } from '../listen.ts'
import { githubStyle, SerenaStyle, unclearStyle } from './seedServers.ts'
import { type Served, serveHttp } from './serve.ts'

const { STYLE: style, FLAG: flag = '--stateless' } = process.env

if (style === undefined) await listenAsInstance(serverWith([flag]))
else {
  process.on('disconnect', () => process.exit())
  const url = await serveHttp(served(style))
  process.send?.({ url })
}

function served(style: string): Served {
  if (style === 'serena') return { open: serena, hasSessions: true }
  return { open: () => (style === 'github' ? githubStyle : unclearStyle) }
}

function serena(): (message: Parameters<SerenaStyle['answer']>[0]) => string | undefined {
  const session = new SerenaStyle()
  return (message) => session.answer(message)
}

// #region flags
/** A server that can be started with --stateless or --stateful. */
function serverWith(args: string[]) {
  const { values } = parseArgs({ args, options: { stateless: { type: 'boolean' }, stateful: { type: 'boolean' } } })
  const architecture = values.stateful ? 'stateful' : 'stateless'
  return createServer({ name: 'MyMCPServer', version: '1.0.0', architecture }).tool(
    'greet',
    { description: 'Greets.' },
    () => 'Hello',
  )
}
// #endregion flags
