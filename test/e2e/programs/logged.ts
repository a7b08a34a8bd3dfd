/** A server that was given no logger: `listen` and `stdio` bring their own. */
import { createServer } from 'pannier/server'

const server = createServer({ name: 'logged', version: '1.0.0' })
server.tool('hello', { description: 'Says hello' }, () => 'hello')
server.tool('chat', { description: 'Writes to the console' }, () => {
  console.log('from %s', 'log')
  console.info('from info')
  console.table([{ from: 'table' }])
  return 'written'
})

if (process.argv[2] === 'stdio') {
  const served = server.stdio()
  if (process.argv[3] === 'eager') console.log('started')
  await served
} else console.log((await server.listen()).url)
