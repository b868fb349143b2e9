/** The consent page: which application asks for what, and who is signed in. */
import type { Context } from 'koa'
import type { Client } from 'oidc-provider'
import type { Person } from '../accounts.ts'
import { html } from '../html.ts'
import { askedBy, type Interaction } from './interaction.ts'
import { missingFrom } from './missing.ts'
import { sendPage } from './page.ts'

interface Consent {
  readonly client: Client
  readonly person: Person
}

export function consentPage(ctx: Context, interaction: Interaction, { client, person }: Consent): void {
  const name = client.clientName ?? client.clientId
  sendPage(ctx, {
    title: `Let ${name} know who you are?`,
    leadsTo: askedBy(interaction).redirectUri,
    content: html`
  <p>You are signed in as <strong>${person.name}</strong>. <strong>${name}</strong> asks to:</p>
  <ul>${requested(interaction).map((item) => html`<li>${item}</li>`)}</ul>
  <p>It does not get your password, and you can sign out at any time.</p>
  <form method="post">
    <button name="decision" value="allow">Allow</button>
    <button class="quiet" name="decision" value="cancel">Cancel</button>
  </form>`,
  })
}

const MEANINGS: Readonly<Record<string, string>> = {
  openid: 'learn who you are: your user id and your name',
}

function requested(interaction: Interaction): string[] {
  const { scopes, claims, resourceScopes } = missingFrom(interaction)
  return [
    ...scopes.map((scope) => MEANINGS[scope] ?? scope),
    ...claims.map((claim) => `learn your ${claim}`),
    ...Object.entries(resourceScopes).map(([resource, names]) => `use ${resource} (${names.join(', ')})`),
  ]
}
