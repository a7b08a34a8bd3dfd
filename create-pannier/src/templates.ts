/** The kinds of projects. A project gets the files of `folders`; a later folder overrides an earlier one. */
export const TEMPLATES = {
  http: {
    title: 'an MCP server over HTTP',
    folders: ['shared', 'server', 'http'],
    next: ['npm run dev', 'npm run call   # in a second terminal: calls the tool, and asks you'],
  },
  stdio: {
    title: 'an MCP server that clients start as a program',
    folders: ['shared', 'server', 'stdio'],
    next: ['npm run call   # starts the program, calls the tool, and asks you'],
  },
  workers: {
    title: 'an MCP server on Cloudflare Workers',
    folders: ['shared', 'server', 'workers'],
    next: ['npm run dev', 'npm run call   # in a second terminal: calls the tool, and asks you'],
  },
  gateway: {
    title: 'one address for several MCP servers',
    folders: ['shared', 'gateway'],
    next: ['npm run dev', 'npm run call   # in a second terminal: calls a tool through the gateway, and asks you'],
  },
} as const

export type TemplateName = keyof typeof TEMPLATES

export const TEMPLATE_NAMES = Object.keys(TEMPLATES) as readonly TemplateName[]

export function isTemplate(name: string): name is TemplateName {
  return Object.hasOwn(TEMPLATES, name)
}
