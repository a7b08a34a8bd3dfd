/** The GitHub-style server: over HTTP with the argument http, else on standard input and output. */
import { serve } from '../../../examples/demos/probe/serve.ts'
import { githubStyle } from '../../../examples/demos/probe/seedServers.ts'

await serve({ open: () => githubStyle })
