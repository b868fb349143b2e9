/** The login page. It asks for a name and believes it: put your own authentication here. */
import type { Context } from 'koa'
import { PEOPLE, type Person } from '../accounts.ts'
import { type Html, html } from '../html.ts'
import { askedBy, type Interaction } from './interaction.ts'
import { sendPage } from './page.ts'

const TEAMS = [
  { role: 'support', title: 'Support' },
  { role: 'security', title: 'Security' },
  { role: 'customer', title: 'Customers' },
] as const

export function signInPage(ctx: Context, interaction: Interaction, message?: string): void {
  sendPage(ctx, {
    title: 'Who are you?',
    leadsTo: askedBy(interaction).redirectUri,
    content: html`
  ${message && html`<p class="message" role="alert">${message}</p>`}
  <p>This page believes whatever you choose. In your deployment, people prove here who they are.</p>
  <form method="post">
    ${TEAMS.map(({ role, title }) =>
      team(
        title,
        PEOPLE.filter((person) => person.role === role),
      ),
    )}
    <button class="quiet" name="decision" value="cancel">Cancel</button>
  </form>`,
  })
}

const team = (title: string, people: readonly Person[]): Html => html`
    <fieldset>
      <legend>${title}</legend>
      ${people.map(({ id, name }) => html`<button class="quiet" name="account" value="${id}">${name} <span>${id}</span></button>`)}
    </fieldset>`
