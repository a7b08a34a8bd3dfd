/** The Serena-style server: over HTTP, with a session by its header, with the argument http; else on standard streams. */
import { serve } from '../fixtures/serve.ts'
import { SerenaStyle } from '../fixtures/seedServers.ts'

await serve({
  open: () => {
    const session = new SerenaStyle()
    return (message) => session.answer(message)
  },
  hasSessions: true,
})
