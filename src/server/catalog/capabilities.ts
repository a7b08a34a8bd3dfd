import type { Json } from '../../protocol/index.ts'
import type { Registry } from './registry.ts'

/** What this server can do, said truthfully: only what there is something of. */
export function serverCapabilities(registry: Registry, more: Json = {}): Json {
  return {
    ...more,
    logging: {},
    ...(registry.tools.size > 0 && { tools: { listChanged: true } }),
    ...(registry.prompts.size > 0 && { prompts: { listChanged: true } }),
    ...(registry.hasResources && { resources: { listChanged: true, subscribe: true } }),
    ...(registry.completions.size > 0 && { completions: {} }),
  }
}
