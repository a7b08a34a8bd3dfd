/** The Serena-style server: over HTTP, with a session by its header, with the argument http; else on standard streams. */
import { serve } from '../../../examples/demos/probe/serve.ts'
import { SerenaStyle } from '../../../examples/demos/probe/seedServers.ts'

await serve({
  open: () => {
    const session = new SerenaStyle()
    return (message) => session.answer(message)
  },
  hasSessions: true,
})
